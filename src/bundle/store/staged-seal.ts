import { createHash } from 'node:crypto';
import type { StagedManifest } from './bundle-store.ts';
import { StagedChanged } from './store-errors.ts';
import { parseStaged, toJson } from './store-json.ts';

/**
 * SHA-256 of what verification recorded about an archive (`staged.json`): its digest, its hash and every file. A run
 * keeps it in its history, where a program that can write to the store cannot change it.
 */
export function sealOf(manifest: StagedManifest): string {
  return sha256Of(toJson(manifest));
}

/** What a record says, if it is the sealed one. Throws `StagedChanged`. */
export function sealedManifest(text: string, seal: string): StagedManifest {
  if (sha256Of(text) === seal) return parseStaged(text);
  throw new StagedChanged('staged.json is not what was recorded when the archive was verified');
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
