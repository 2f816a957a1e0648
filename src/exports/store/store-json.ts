import { z } from 'zod';
import type { Current, Manifest, StagedManifest } from './bundle-store.ts';
import type { InUse } from './retention.ts';
import type { SiteHold } from './site-holds.ts';
import { RecordDamaged } from './store-errors.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const size = z.int().nonnegative();

const stagedSchema = z.object({
  contentDigest: digest,
  archive: z.object({ sha256: digest, bytes: size, format: z.enum(['tar.gz', 'tar', 'zip']) }),
  pages: size,
  files: z.array(z.object({ path: z.string(), bytes: size, sha256: digest })),
  source: z.object({ org: z.string(), domain: z.string(), jobId: z.string() }),
});
const manifestSchema = stagedSchema.extend({ version: z.string() });
const currentSchema = z.object({
  version: z.string(),
  contentDigest: digest,
  publishedAt: z.string(),
  epoch: z.int().positive(),
});
const holdSchema = z.object({
  version: z.string(),
  since: z.string(),
  reason: z.string().nullable(),
  waiting: z.string().nullable(),
});
const claimSchema = z.object({ since: z.iso.datetime().transform((text) => new Date(text)) });
/** By the name of the target. */
const rolloutsSchema = z.record(z.string(), z.string());
const inUseSchema = z.object({
  rollingOut: z.record(z.string(), z.string()),
  promoting: z.record(z.string(), z.string()),
  removing: z.array(z.string()),
  changes: size.default(0),
});
const identitySchema = z.object({ identity: z.string().min(1), predecessors: z.array(z.string()).default([]) });

/** `.store.json`. */
export type StoreIdentity = z.infer<typeof identitySchema>;

// The JSON files of a bundle store (contracts.md). Each throws `RecordDamaged` when the text is another.
export const parseStaged = (text: string): StagedManifest => parsed('staged.json', stagedSchema, text);
export const parseManifest = (text: string): Manifest => parsed('manifest.json', manifestSchema, text);
export const parseCurrent = (text: string): Current => parsed('current.json', currentSchema, text);
export const parseHold = (text: string): SiteHold => parsed('hold.json', holdSchema, text);
export const parseRollouts = (text: string): Record<string, string> => parsed('rollouts.json', rolloutsSchema, text);
export const parseInUse = (text: string): InUse => parsed('in-use.json', inUseSchema, text);
export const parseClaim = (text: string): { since: Date } => parsed('claim.json', claimSchema, text);
export const parseIdentity = (text: string): StoreIdentity => parsed('.store.json', identitySchema, text);

function parsed<Record>(file: string, schema: z.ZodType<Record>, text: string): Record {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new RecordDamaged(file);
  }
}

/** The manifest that a text is; null when it is none. */
export function manifestIn(text: string): Manifest | null {
  try {
    return parseManifest(text);
  } catch {
    return null;
  }
}

/** JSON as people and programs read it. */
export function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
