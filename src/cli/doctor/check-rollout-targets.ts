import { lstat, readFile, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { RolloutConfig, SiteConfig } from '../../config/config.ts';
import { editHelmValues } from '../../exports/rollout/edit-helm-values.ts';
import { ValuesRefused } from '../../exports/rollout/helm-values-document.ts';
import { bad, type Check, good } from './check.ts';
import { codeOf, nearestFolder, whyNotWritable } from './writable.ts';

const giveAccess = 'give the user that runs docferry write access to it, or correct the rollout of the site';

/** Whether each of the site's targets could take a version now; changes nothing. */
export async function checkTargets({ domain, rollout }: SiteConfig): Promise<Check[]> {
  return Promise.all(
    rollout.map((target) => {
      const name = `rollout:${domain}:${target.name}`;
      return target.kind === 'directory' ? checkDirectory(name, target) : checkHelmValues(name, target);
    }),
  );
}

async function checkDirectory(name: string, { path }: RolloutConfig & { kind: 'directory' }): Promise<Check> {
  const current = join(path, 'current');
  const found = await lstat(current).catch(() => null);
  if (found && !found.isSymbolicLink()) {
    return bad(name, `${current} is not a symbolic link`, 'move it away, or choose another folder');
  }
  for (const folder of [path, join(path, 'releases')]) {
    const problem = await whyNotWritable(await nearestFolder(folder));
    if (problem !== null) return bad(name, problem, giveAccess);
  }
  return good(name, `${path} can be written`);
}

async function checkHelmValues(name: string, { file }: RolloutConfig & { kind: 'helmValues' }): Promise<Check> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
    editHelmValues(text, { bundleUrl: 'http://localhost/', version: 'x' });
  } catch (error) {
    if (error instanceof ValuesRefused) return bad(name, `${file} ${error.message}`, 'correct the values file');
    const fix = 'create it (it may be empty), or correct the rollout of the site';
    return bad(name, `${file} cannot be read (${codeOf(error)})`, fix);
  }
  const problem = await whyNotWritable(dirname(await realpath(file)));
  if (problem !== null) return bad(name, `${file} cannot be replaced: ${problem}`, giveAccess);
  return good(name, `${file} can be replaced`);
}
