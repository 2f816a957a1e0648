import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** The helm command at HELM_PATH or on the PATH; null when there is none. */
export const helmPath = findHelm();

const run = promisify(execFile);

/** What `helm …` prints; throws with its stderr. */
export async function helm(...args: string[]): Promise<string> {
  if (helmPath === null) throw new Error('there is no helm');
  return (await run(helmPath, args)).stdout;
}

function findHelm(): string | null {
  const { HELM_PATH, PATH = '' } = process.env;
  if (HELM_PATH) return HELM_PATH;
  return (
    PATH.split(delimiter)
      .map((folder) => join(folder, 'helm'))
      .find(isExecutable) ?? null
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
