import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyDurably, ifMissing, isTempName, linkOrCopySync, readIfExists, replaceFile, tryLock } from '../../files.ts';
import { identityPath, isStoreName, StoreBusy, stagingRoot } from './bundle-store.ts';
import { parseIdentity, toJson } from './manifests.ts';

const waitMs = 10_000;
const stepMs = 10;

/** Runs `change`, which is synchronous, while nothing else has the store's lock. Throws `StoreBusy` after 10 s. */
export async function withStoreLock<T>(root: string, change: () => T): Promise<T> {
  const file = join(root, '.lock');
  const deadline = performance.now() + waitMs;
  let lock = tryLock(file);
  while (!lock) {
    if (performance.now() > deadline) throw new StoreBusy('the bundle store is locked by another process');
    await sleep(stepMs);
    lock = tryLock(file);
  }
  try {
    return change();
  } finally {
    lock.release();
  }
}

/**
 * Everything published, with its records, at one moment: links in the store's own staging area, made under its lock, so
 * that versions which retention removes meanwhile stay until the snapshot is removed. Null when `root` is no store.
 * Throws `StoreBusy` and system errors.
 */
export async function snapshotStore(
  root: string,
): Promise<{ folder: string; identity: string; remove(): Promise<void> } | null> {
  const text = await readIfExists(join(root, identityPath));
  if (text === null) return null;
  const folder = join(root, stagingRoot, `snapshot-${randomUUID()}`);
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await withStoreLock(root, () => {
      linkOrCopySync(join(root, identityPath), join(folder, identityPath));
      for (const entry of readdirSync(root, { withFileTypes: true })) {
        if (entry.isDirectory() && isStoreName(entry.name)) linkTree(join(root, entry.name), join(folder, entry.name));
      }
    });
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, identity: parseIdentity(text).identity, remove };
}

/** Records are replaced by renaming and versions never change, so a link keeps what it was. */
function linkTree(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, place] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) linkTree(source, place);
    else if (entry.isFile() && !isTempName(entry.name)) linkOrCopySync(source, place);
  }
}

/**
 * Copies the downloads that are verified but not yet published, so that a run which a backup of Temporal finds between
 * these two steps can continue. What is published meanwhile is left out. Throws system errors.
 */
export async function copyStaged(root: string, to: string): Promise<void> {
  const staging = join(root, stagingRoot);
  for (const stageId of (await readdir(staging).catch(ifMissing([]))).filter(isStoreName)) {
    const [from, place] = [join(staging, stageId), join(to, stagingRoot, stageId)];
    if ((await readIfExists(join(from, 'staged.json'))) === null) continue;
    try {
      for (const name of ['archive', 'staged.json']) await copyDurably(join(from, name), join(place, name));
    } catch (error) {
      await rm(place, { recursive: true, force: true });
      ifMissing(undefined)(error);
    }
  }
}

/** Gives a copy of a store its own identity, and retires the one it came with. */
export async function succeedDirectoryStore(root: string): Promise<void> {
  const file = join(root, identityPath);
  const { identity, predecessors } = parseIdentity((await readIfExists(file)) ?? '');
  await replaceFile(file, toJson({ identity: randomUUID(), predecessors: [...predecessors, identity] }));
}
