import { createHash } from 'node:crypto';
import type { StagedManifest } from './bundle-store.ts';
import { StagedChanged } from './store-errors.ts';
import { parseStaged, toJson } from './store-json.ts';

/**
 * SHA-256 of what verification recorded of an archive (`staged.json`): its digest, its hash and every file. Temporal
 * keeps it, in heartbeats and the run's history, out of reach of those who can write to the store.
 */
export function sealOf(manifest: StagedManifest): string {
  return sha256Of(toJson(manifest));
}

/** What a record says; null when there is none, or not the sealed one. */
export function sealedManifest(text: string | null, seal: string): StagedManifest | null {
  return text !== null && sha256Of(text) === seal ? parseStaged(text) : null;
}

/** The same. Throws `StagedChanged`. */
export function requireSealed(text: string | null, stageId: string, seal: string): StagedManifest {
  const manifest = sealedManifest(text, seal);
  if (manifest !== null) return manifest;
  if (text === null) throw new StagedChanged(`nothing verified is staged as ${stageId}`);
  throw new StagedChanged('staged.json is not what was recorded when the archive was verified');
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
