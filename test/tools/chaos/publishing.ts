import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BundlePlaceConfig } from '../../../src/config/config.ts';
import { PartialFile } from '../../../src/exports/fetch/partial-file.ts';
import { DirectoryPlace } from '../../../src/exports/rollout/directory-place.ts';
import { takeStep } from '../../../src/exports/rollout/roll-out-version.ts';
import { versionName } from '../../../src/exports/rules/site-export.ts';
import {
  type BundleStore,
  changing,
  manifestName,
  NoSuchVersion,
  PointerMoved,
  VersionConflict,
} from '../../../src/exports/store/bundle-store.ts';
import { sealOf } from '../../../src/exports/store/manifests.ts';
import { openBundleStore } from '../../../src/exports/store/open-bundle-store.ts';
import { verifyArchive } from '../../../src/exports/verify/verify-archive.ts';
import { hashFile } from '../../../src/files.ts';

export const siteDomain = 'docs.acme.example';
/** Versions the store keeps, and releases the folder target keeps. */
export const kept = 3;
const chunk = 64 * 1024;
const someLimits = { maxBytes: 100_000_000, maxFiles: 1000, maxRatio: 1000 };

/** The input of one publication; plain JSON. */
export interface Publication {
  store: BundlePlaceConfig;
  /** Folder of the target. */
  site: string;
  /** A good archive in place of the download. */
  archive: string;
  /** Names the run; the same in a repetition. */
  stageId: string;
  /** Time in the version's name, in milliseconds. */
  at: number;
}

/**
 * The steps of an export with its store and its target, in order and by the same functions: download to the staging file,
 * verify, publish, move the pointer, remove old versions, roll out. Returns the version, or null when another run was
 * quicker. Safe to repeat.
 */
export async function publishOnce({ store, site, archive, stageId, at }: Publication): Promise<string | null> {
  const bundles = await openBundleStore(store);
  await bundles.checkWritable();
  const epoch = (await bundles.current(siteDomain))?.epoch ?? 0;
  const staged = await bundles.stagingFile(stageId);
  await changing(dirname(staged), () => fetchTo(staged, archive));
  const report = await verifyArchive(staged, { limits: someLimits, structureOnly: true });
  if (!report.ok || !report.archive || !report.contentDigest) throw new Error('the archive is refused');
  const { archive: facts, contentDigest, pages, entries: files } = report;
  const source = { org: 'acme', domain: siteDomain, jobId: stageId };
  const found = { contentDigest, archive: facts, pages, files, source };
  await bundles.saveStaged(stageId, found);
  const version = versionName(at, contentDigest);
  try {
    await bundles.publish(stageId, version, sealOf(found));
    await bundles.moveCurrent(siteDomain, version, epoch, new Date(at));
    await bundles.prune(siteDomain, kept);
    await bundles.removeAbandoned(siteDomain, new Date());
    await bundles.discardStaged(stageId);
    const target = { name: 'directory:./site', place: new DirectoryPlace({ path: site, keep: kept }) };
    const guard = async () => {
      if ((await bundles.current(siteDomain))?.version !== version) throw new PointerMoved('overtaken');
    };
    await takeStep({
      bundles,
      domain: siteDomain,
      version,
      previous: null,
      target,
      step: 'place',
      guard,
      alive: guard,
    });
    return version;
  } catch (error) {
    if (!(await isOvertaken(error, bundles, version))) throw error;
    await bundles.discardStaged(stageId);
    return null;
  }
}

/** Whether another run was quicker: it moved the pointer, or retention removed this version among newer ones. */
async function isOvertaken(error: unknown, bundles: BundleStore, version: string): Promise<boolean> {
  if (error instanceof PointerMoved) return true;
  // Retention removes a version's manifest first, and the rest a moment later.
  for (let left = 100; error instanceof VersionConflict; left -= 1) {
    const files = (await bundles.inventory(siteDomain)).find((each) => each.version === version)?.files;
    if (files === undefined) break;
    if (left === 0 || files.some(({ name }) => name === manifestName)) return false;
    await sleep(50);
  }
  const stored = (await bundles.inventory(siteDomain)).map((each) => each.version);
  const isGone = error instanceof VersionConflict || error instanceof NoSuchVersion;
  return isGone && stored.filter((other) => other > version).length >= kept;
}

/** As a download does it: first the proof of the bytes, then the bytes, then a flush. */
async function fetchTo(staged: string, archive: string): Promise<void> {
  const content = await readFile(archive);
  const file = await PartialFile.open(staged);
  try {
    await file.startOver({ etag: `"${await hashFile(archive)}"`, total: content.length });
    const writer = file.writerFrom(0);
    for (let at = 0; at < content.length; at += chunk) {
      writer.write(content.subarray(at, at + chunk), () => {});
      await writer.settled();
    }
    await file.finish();
  } finally {
    await file.close();
  }
}
