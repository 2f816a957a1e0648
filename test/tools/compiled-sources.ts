import { execFile } from 'node:child_process';
import { mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Compiles one source file of `src/` (path relative to the repository) and what it imports into a new temporary folder,
 * for tests that need the current sources in a process of their own, where no transformer runs. Returns the folder.
 */
export async function compileSources(entry: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'docferry-compiled-'));
  const project = join(folder, 'tsconfig.json');
  const compilerOptions = {
    rootDir: root,
    outDir: folder,
    noCheck: true,
    typeRoots: [join(root, 'node_modules/@types')],
  };
  await writeFile(
    project,
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: [], files: [join(root, entry)] }),
  );
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project]);
  return folder;
}
