/** What a list of the past is narrowed down to. */
export interface HistoryFlags<Outcome extends string = never> {
  outcome?: Outcome;
  /** Milliseconds before now. */
  since?: number;
  limit: number;
}

/** The filter of a store; it asks for one more than wanted, to see whether there are more. */
export function historyFilter<Outcome extends string>({ outcome, since, limit }: HistoryFlags<Outcome>) {
  return {
    ...(outcome !== undefined && { outcome }),
    ...(since !== undefined && { since: new Date(Date.now() - since).toISOString() }),
    limit: limit + 1,
  };
}
