import { z } from 'zod';
import type { Current, Manifest, StagedManifest } from './bundle-store.ts';
import type { InUse } from './retention.ts';
import type { SiteHold } from './site-holds.ts';

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

// The JSON files of a bundle store (contracts.md). Each throws an error of `isDamagedJson` when the text is another.
export const parseStaged = (text: string): StagedManifest => stagedSchema.parse(JSON.parse(text));
export const parseManifest = (text: string): Manifest => manifestSchema.parse(JSON.parse(text));
export const parseCurrent = (text: string): Current => currentSchema.parse(JSON.parse(text));
export const parseHold = (text: string): SiteHold => holdSchema.parse(JSON.parse(text));
export const parseRollouts = (text: string): Record<string, string> => rolloutsSchema.parse(JSON.parse(text));
export const parseInUse = (text: string): InUse => inUseSchema.parse(JSON.parse(text));
export const parseIdentity = (text: string): StoreIdentity => identitySchema.parse(JSON.parse(text));

/** The manifest that a text is; null when it is none. */
export function manifestIn(text: string): Manifest | null {
  try {
    return parseManifest(text);
  } catch {
    return null;
  }
}

/** Whether a parser here failed because the text is not JSON, or not the JSON it should be. */
export function isDamagedJson(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof z.ZodError;
}

/** JSON as people and programs read it. */
export function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
