/** What becomes of a personal value before it is written. */
export type Handling = 'keep' | 'hash' | 'drop';

/** What becomes of personal data before anything of it is written (contracts.md `privacy`, privacy.md). */
export interface Privacy {
  contacts: Handling;
  /** Of `comment` and of `code`: both are what people wrote. */
  comments: Handling;
  /** The key of `hash`, read when the first value is hashed. */
  hashKey(): string;
  /** Unknown fields that stay in spite of `hash` and `drop`. */
  keepFields: readonly string[];
  /** Age in milliseconds at which personal data goes; null: never. */
  retentionMs: number | null;
}

export const keepEverything: Privacy = {
  contacts: 'keep',
  comments: 'keep',
  hashKey: () => {
    throw new Error('nothing is hashed without a key');
  },
  keepFields: [],
  retentionMs: null,
};

/** With `hash` or `drop` of either, fields of unknown meaning are not stored. */
export function isRestricted({ contacts, comments }: Privacy): boolean {
  return contacts !== 'keep' || comments !== 'keep';
}

/** Whether nothing is ever removed. */
export function keepsAll(privacy: Privacy): boolean {
  return !isRestricted(privacy) && privacy.retentionMs === null;
}

/** Before this moment personal data is too old to be kept, UTC ISO 8601; null where it is never too old. */
export function retentionStart({ retentionMs }: Privacy, now: Date): string | null {
  return retentionMs === null ? null : new Date(now.getTime() - retentionMs).toISOString();
}
