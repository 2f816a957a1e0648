import { writeFile } from 'node:fs/promises';
import type { BundleStore, StagedManifest } from '../../../src/exports/store/bundle-store.ts';
import { sealOf } from '../../../src/exports/store/manifests.ts';
import { sha256 } from './object-server.ts';

export const siteDomain = 'docs.acme.example';

/** What verification would have found in these bytes, which need not be an archive. */
export function stagedManifest(content: string | Buffer, files = oneFile): StagedManifest {
  const bytes = Buffer.from(content);
  const digest = files.map(({ path, sha256: hash }) => `${path}\0${hash}\n`).join('');
  return {
    contentDigest: sha256(Buffer.from(digest)),
    archive: { sha256: sha256(bytes), bytes: bytes.length, format: 'tar.gz' },
    pages: 1,
    files,
    source: { org: 'acme', domain: siteDomain, jobId: 'job_1' },
  };
}

const oneFile = [{ path: 'index.html', bytes: 2, sha256: sha256(Buffer.from('hi')) }];

/** A file list that depends on the text, and so does its content digest. */
export function filesOf(text: string): StagedManifest['files'] {
  return [{ path: 'index.html', bytes: text.length, sha256: sha256(Buffer.from(text)) }];
}

const usualContent = 'archive bytes';

/** What `stage` records. */
function recordOf(content: string | Buffer): StagedManifest {
  return stagedManifest(content, filesOf(Buffer.from(content).toString('latin1', 0, 100)));
}

/** The seal of what `stage` records. */
export function sealOfStaged(content: string | Buffer = usualContent): string {
  return sealOf(recordOf(content));
}

/** Stages bytes in the store as if they had been verified. */
export async function stage(store: BundleStore, stageId: string, content: string | Buffer = usualContent) {
  const manifest = recordOf(content);
  await writeFile(await store.stagingFile(stageId), content);
  await store.saveStaged(stageId, manifest);
  return manifest;
}

/** Publishes bytes as a version, as an export does. */
export async function publish(store: BundleStore, version: string, content: string | Buffer = usualContent) {
  const stageId = `run-of-${version}`;
  const staged = await stage(store, stageId, content);
  const manifest = await store.publish(stageId, version, sealOf(staged));
  await store.discardStaged(stageId);
  return manifest;
}
