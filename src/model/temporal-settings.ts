/** A dead worker's workflow task moves on after this, so every workflow must replay well within it (architecture.md). */
export const workflowTaskTimeoutMs = 2_000;

/** The first server that allows update-with-start, which budgets need, without a setting: major and minor version. */
export const oldestServer = [1, 28] as const;

/** Days that closed workflows stay in a namespace made by docferry (contracts.md). */
export const retentionDays = 30;
