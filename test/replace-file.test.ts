import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  isTempName,
  pathProblem,
  placeFolder,
  replaceFile,
  replaceFileSync,
  rewriteFile,
  tempName,
} from '../src/files.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docferry-files-'));
  file = join(folder, 'x.json');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function* chunks(...texts: string[]): AsyncGenerator<string | Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
  yield 'é';
}

describe('replaceFile', () => {
  it('writes text and streams, counts their bytes, and leaves nothing beside the file', async () => {
    expect(await replaceFile(file, 'old')).toBe(3);
    expect(await replaceFile(file, chunks('a', 'b'))).toBe(4);
    expect(await readFile(file, 'utf8')).toBe('abé');
    replaceFileSync(file, 'new');
    expect(await readFile(file, 'utf8')).toBe('new');
    expect(await readdir(folder)).toEqual(['x.json']);
  });

  it('writes a file whose name is as long as names may be', async () => {
    const longest = join(folder, 'é'.repeat(127));
    await replaceFile(longest, 'new');
    replaceFileSync(`${longest}x`, 'new');
    expect((await readdir(folder)).map((name) => Buffer.byteLength(name)).sort()).toEqual([254, 255]);
    expect(isTempName(tempName(longest))).toBe(true);
  });

  it('leaves the old file and nothing beside it when the content fails half-way', async () => {
    await writeFile(file, 'old');
    const failing = async function* () {
      yield 'half';
      throw new Error('the source failed');
    };
    await expect(replaceFile(file, failing())).rejects.toThrow('the source failed');
    expect(await readFile(file, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['x.json']);
  });
});

describe('rewriteFile', () => {
  it('keeps the mode, and a symbolic link as a link to the same file', async () => {
    await writeFile(file, 'old');
    await chmod(file, 0o640);
    await symlink('x.json', join(folder, 'link'));
    await rewriteFile(join(folder, 'link'), 'new');
    expect(await readFile(file, 'utf8')).toBe('new');
    expect((await stat(file)).mode & 0o7777).toBe(0o640);
    expect(await readlink(join(folder, 'link'))).toBe('x.json');
  });

  it('throws when the file does not exist', async () => {
    await expect(rewriteFile(file, 'new')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

it('recognises its temporary names, and no others', () => {
  expect(isTempName(tempName('x.json'))).toBe(true);
  expect(isTempName('x.json')).toBe(false);
  expect(isTempName('x.tmp')).toBe(false);
});

it('places a finished folder, and leaves the one that another process placed before', async () => {
  for (const name of ['first', 'second']) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'by'), name);
  }
  await placeFolder(join(folder, 'first'), join(folder, 'place'));
  await placeFolder(join(folder, 'second'), join(folder, 'place'));
  expect(await readFile(join(folder, 'place', 'by'), 'utf8')).toBe('first');
  expect((await readdir(folder)).sort()).toEqual(['place', 'second']);
});

it('names the file that is where a path needs a folder', async () => {
  await writeFile(file, '');
  const what = `cannot be used: ${file} is a file, not a folder (ENOTDIR)`;
  for (const path of [file, join(file, 'a', 'b')]) {
    const error: unknown = await readdir(path).catch((caught: unknown) => caught);
    expect(pathProblem(error)).toMatchObject({ what });
  }
});
