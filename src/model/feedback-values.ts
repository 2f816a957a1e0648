/** The values INTERFACE "Feedback entry" names; entries may carry others, which are kept as sent. */
export const knownSources: readonly string[] = ['code_snippet', 'contextual', 'agent', 'thumbs_only'];
export const knownStatuses: readonly string[] = ['pending', 'in_progress', 'resolved', 'dismissed'];
