import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';

/** The helm command at HELM_PATH or on the PATH; null when there is none. */
export const helmPath = findHelm();

const run = promisify(execFile);

/** What `helm …` prints; throws with its stderr. */
export async function helm(...args: string[]): Promise<string> {
  if (helmPath === null) throw new Error('there is no helm');
  return (await run(helmPath, args)).stdout;
}

/** The resources that a chart renders, as `Resource` describes them. */
export async function renderChart<Resource>(...args: string[]): Promise<Resource[]> {
  // A helm that Go built knows no version of Kubernetes by itself.
  const rendered = await helm('template', ...args, '--kube-version', '1.33.0');
  return parseAllDocuments(rendered).map((one): Resource => one.toJS());
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
