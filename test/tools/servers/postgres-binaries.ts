import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where distributions put the programs of each major version. */
const distributions = '/usr/lib/postgresql';

/**
 * The folder with PostgreSQL's programs: `DOCFERRY_PG_BIN`, else the PATH, else the newest of the distribution's. Null
 * where there is none.
 */
export function postgresBinaries(env: NodeJS.ProcessEnv = process.env): string | null {
  const versions = existsSync(distributions) ? readdirSync(distributions).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(env.DOCFERRY_PG_BIN ? [env.DOCFERRY_PG_BIN] : []),
    ...(env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(distributions, version, 'bin')),
  ];
  return folders.find((folder) => ['initdb', 'postgres'].every((name) => existsSync(join(folder, name)))) ?? null;
}

/** PostgreSQL refuses to run as root: whom to run it as, or null for the present user. */
export function ordinaryUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null;
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // There is no such user; the next one.
    }
  }
  return null;
}
