import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../error-code.ts';
import { type FileLock, tryLock } from '../file-lock.ts';
import { type FailedAttempt, reasonOf } from './embedded-errors.ts';
import type { Tool } from './tool.ts';

/** A program that was run and works. */
export interface CheckedProgram {
  path: string;
  version: string;
}

export interface ToolCache {
  folder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** The cached program; rejects with the reason when it is missing or does not work. */
export async function readCached(tool: Tool, cache: ToolCache): Promise<CheckedProgram> {
  const path = join(cache.folder, tool.cacheName, tool.executable);
  await access(path).catch((error: unknown) => {
    throw errorCode(error) === 'ENOENT' ? new Error('nothing cached yet') : error;
  });
  return { path, version: await tool.check(path, cache.env) };
}

/**
 * Puts the program into the cache with the first of its makers that works: made and checked in a temporary folder, then
 * renamed, so that no other process ever sees half of it. Of several processes one works and the others wait for it. Adds
 * the reason of every maker that failed to `tried`; returns undefined when all failed.
 */
export async function makeCached(
  tool: Tool,
  cache: ToolCache,
  tried: FailedAttempt[],
): Promise<(CheckedProgram & { maker: string }) | undefined> {
  await mkdir(cache.folder, { recursive: true });
  const lock = await waitForLock(tool, cache);
  try {
    const made = await readCached(tool, cache).catch(() => undefined);
    if (made) return { ...made, maker: 'cache' };
    await removeUnfinished(tool, cache);
    for (const maker of tool.makers) {
      cache.onProgress(`${tool.title}: trying ${maker.name}`);
      const folder = await mkdtemp(join(cache.folder, unfinishedPrefix(tool)));
      try {
        const onProgress = (line: string) => cache.onProgress(`${tool.title}: ${line}`);
        await maker.make({ folder, env: cache.env, onProgress });
        const version = await tool.check(join(folder, tool.executable), cache.env);
        const target = join(cache.folder, tool.cacheName);
        await rm(target, { recursive: true, force: true });
        await rename(folder, target);
        cache.onProgress(`${tool.title}: ready (${version})`);
        return { path: join(target, tool.executable), version, maker: maker.name };
      } catch (error) {
        tried.push({ step: maker.name, reason: reasonOf(error) });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }
    return undefined;
  } finally {
    lock.release();
  }
}

async function waitForLock(tool: Tool, cache: ToolCache): Promise<FileLock> {
  const file = join(cache.folder, `${tool.cacheName}.lock`);
  for (let waits = 0; ; waits++) {
    const lock = tryLock(file);
    if (lock) return lock;
    if (waits === 0) cache.onProgress(`${tool.title}: waiting for another process to get it`);
    await sleep(300);
  }
}

const unfinishedPrefix = (tool: Tool) => `.${tool.cacheName}-`;

/** Clears what a killed process left; this process has the lock, so no other is at work. */
async function removeUnfinished(tool: Tool, cache: ToolCache): Promise<void> {
  for (const name of await readdir(cache.folder)) {
    if (name.startsWith(unfinishedPrefix(tool))) await rm(join(cache.folder, name), { recursive: true, force: true });
  }
}
