import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { GeneratedFile } from './generated-site.ts';

/** Documentation that people read, as packages of Debian 12: where its site lies in them. */
const packages = [
  { name: 'rust-doc', root: 'usr/share/doc/rust-doc/html' },
  { name: 'python3.11-doc', root: 'usr/share/doc/python3.11/html' },
  { name: 'postgresql-doc-15', root: 'usr/share/doc/postgresql-doc-15/html' },
];

interface PackagedSite {
  name: string;
  /** Its files; symbolic links, which packages make of what they share with others, are left out. */
  files: () => Iterable<GeneratedFile>;
}

/** Downloads the packages to a folder and unpacks them there, once. Throws what their tools say. */
export function packagedSites(folder: string): PackagedSite[] {
  return packages.map(({ name, root }) => {
    const unpacked = join(folder, name);
    return { name, files: () => filesBelow(fetched(name, unpacked, root)) };
  });
}

function fetched(name: string, unpacked: string, root: string): string {
  const path = join(unpacked, root);
  mkdirSync(unpacked, { recursive: true });
  if (readdirSync(unpacked).includes('usr')) return path;
  run('apt-get', ['download', name], unpacked);
  const [archive = ''] = readdirSync(unpacked).filter((file) => file.endsWith('.deb'));
  run('dpkg-deb', ['-x', archive, '.'], unpacked);
  return path;
}

function run(program: string, args: string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr.toString()}`);
}

function* filesBelow(root: string): Generator<GeneratedFile> {
  const entries = readdirSync(root, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name)).sort();
  for (const path of paths) yield { path: relative(root, path), content: readFileSync(path) };
}
