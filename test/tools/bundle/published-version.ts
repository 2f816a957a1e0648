import { writeFile } from 'node:fs/promises';
import type { Manifest } from '../../../src/exports/store/bundle-store.ts';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import { sealOf } from '../../../src/exports/store/manifests.ts';
import { verifyArchive } from '../../../src/exports/verify/verify-archive.ts';
import { smallSite, tarGz } from './build-archive.ts';

const limits = { maxBytes: 10_000_000, maxFiles: 1000, maxRatio: 1000 };

/** A version of `smallSite`, named by its content digest. */
export const smallSiteVersion = '20261121T040200Z-d8b991f59c48';

interface Wanted {
  root: string;
  domain: string;
  version: string;
  publicUrl?: string;
  /** The archive of `smallSite`; as a tar.gz by default. */
  bundle?: Buffer;
}

/** Publishes the site of `SITE` in a store, as an export would. */
export async function publishSite(wanted: Wanted): Promise<{ store: DirectoryBundleStore; manifest: Manifest }> {
  const { root, domain, version, publicUrl = 'http://localhost:8090', bundle = tarGz(smallSite) } = wanted;
  const store = await DirectoryBundleStore.open({ root, publicUrl });
  const staged = await store.stagingFile('stage');
  await writeFile(staged, bundle);
  const { archive, contentDigest, pages, entries: files } = await verifyArchive(staged, { limits });
  if (!archive || !contentDigest) throw new Error('the archive of the test is refused');
  const source = { org: 'acme', domain, jobId: 'job_1' };
  const found = { archive, contentDigest, pages, files, source };
  await store.saveStaged('stage', found);
  return { store, manifest: await store.publish('stage', version, sealOf(found)) };
}
