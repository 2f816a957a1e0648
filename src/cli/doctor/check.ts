import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** `skipped`: not possible, because another check failed. */
type Level = 'ok' | 'warning' | 'error' | 'skipped';

/** One verdict of `docferry doctor`. */
export interface Check {
  /** Stable name for scripts, e.g. `temporal` or `api-key:acme`. */
  name: string;
  level: Level;
  /** One line. */
  detail: string;
  /** What to do about it; null when there is nothing to do. */
  fix: string | null;
}

export const good = (name: string, detail: string): Check => ({ name, level: 'ok', detail, fix: null });

export const warning = (name: string, detail: string, fix: string): Check => ({ name, level: 'warning', detail, fix });

export const bad = (name: string, detail: string, fix: string): Check => ({ name, level: 'error', detail, fix });

export const skipped = (name: string, because: string): Check => ({
  name,
  level: 'skipped',
  detail: `not checked: ${because}`,
  fix: null,
});

/** A check that could not reach a verdict, e.g. because the system or Temporal refused. */
export function failed(name: string, { message, hint }: { message: string; hint: string | null }): Check {
  return bad(name, message, hint ?? 'see the message');
}

/** Why a folder cannot be written, or null when it can; writes nothing. */
export async function whyNotWritable(folder: string): Promise<string | null> {
  try {
    if (!(await stat(folder)).isDirectory()) return `${folder} is not a folder`;
    await access(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `${folder} cannot be written (${codeOf(error)})`;
  }
}

/** The folder itself, or the nearest one around it that exists. */
export async function nearestFolder(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    if (folder === dirname(folder) || (await isThere(folder))) return folder;
  }
}

export async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error) => codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR',
  );
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
