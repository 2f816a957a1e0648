import { randomBytes } from 'node:crypto';
import type { PrivacyConfig } from '../../config/config.ts';
import type { Trx } from '../store/tables.ts';

/** What becomes of a personal value before it is written. */
export type Handling = PrivacyConfig['contacts'];

/** What becomes of personal data before anything of it is written (contracts.md `privacy`, privacy.md). */
export interface Privacy extends Omit<PrivacyConfig, 'hashKey'> {
  /** The key of `hash`, read when the first value is hashed. */
  hashKey(): string;
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

export interface ErasureRequest {
  /** As a person writes it. */
  contact: string;
  /** Only in this project; by default in all, later ones included. */
  project?: string;
  /** Of the project. */
  org?: string;
  at: Date;
  /** Who erases, for the audit. */
  who?: string;
}

export interface Erasure {
  /** Keyed hash of the contact, which syncs compare. */
  contact: string;
  entries: number;
  changes: number;
  rejects: number;
  /** Those in which there was anything of the person. */
  projects: { project: string; entries: number; changes: number; rejects: number }[];
  /** Whether the removed bytes are gone from the database's own files too. */
  scrubbed: boolean;
}

/** Rows that were not as `privacy` asks for. */
export interface PrivacyChanges {
  entries: number;
  rejects: number;
}

/** `privacy` for the feedback store. The key is read when something is hashed, which may throw `ConfigError`. */
export function feedbackPrivacy({ hashKey, ...privacy }: PrivacyConfig): Privacy {
  let key: string | undefined;
  return {
    ...privacy,
    hashKey: () => {
      // With `hash`, the configuration requires a key.
      if (hashKey === null) throw new Error('there is no hash key');
      key ??= hashKey.read();
      return key;
    },
  };
}

/** The store's own key, made when first needed: it outlives changes of `privacy.hashKey` (decisions/0044). */
export async function storeKey(trx: Trx): Promise<string> {
  const find = () => trx.selectFrom('store_key').select('key').executeTakeFirst();
  const found = await find();
  if (found !== undefined) return found.key;
  await trx
    .insertInto('store_key')
    .values({ only_row: 1, key: randomBytes(32).toString('hex') })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await find())?.key ?? '';
}
