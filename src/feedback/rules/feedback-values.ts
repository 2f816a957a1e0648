/** The values service-interface.md "Feedback entry" names; entries may carry others, which are kept as sent. */
export const knownSources: readonly string[] = ['code_snippet', 'contextual', 'agent', 'thumbs_only'];
export const knownStatuses: readonly string[] = ['pending', 'in_progress', 'resolved', 'dismissed'];
/** Statuses of entries that wait for a person (S4). */
export const openStatuses: readonly string[] = ['pending', 'in_progress'];
export const closedStatuses: readonly string[] = ['resolved', 'dismissed'];
