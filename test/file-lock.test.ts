import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { tryLock } from '../src/files.ts';

const sqlite = createRequire(import.meta.url).resolve('@photostructure/sqlite');

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docferry-lock-'));
  file = join(folder, 'x.lock');
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

it('has one owner at a time and can be taken again after its release', () => {
  const first = tryLock(file);
  expect(first).toBeDefined();
  expect(tryLock(file)).toBeUndefined();
  first?.release();
  const second = tryLock(file);
  expect(second).toBeDefined();
  second?.release();
});

it('stays with this process, which tries to take it once more', () => {
  const lock = tryLock(file);
  expect(tryLock(file)).toBeUndefined();
  const program = `
    const database = new (require(${JSON.stringify(sqlite)}).DatabaseSync)(${JSON.stringify(file)}, { timeout: 0 });
    try { database.exec('BEGIN EXCLUSIVE'); console.log('taken'); } catch { console.log('refused'); }`;
  expect(spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' }).stdout).toBe('refused\n');
  lock?.release();
});

it('excludes other processes and is free after a kill -9 of its owner', async () => {
  const program = `
    const database = new (require(${JSON.stringify(sqlite)}).DatabaseSync)(${JSON.stringify(file)});
    database.exec('BEGIN EXCLUSIVE');
    console.log('held');
    setInterval(() => database, 1000);`;
  const holder = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  expect(tryLock(file)).toBeUndefined();
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = tryLock(file);
  expect(lock).toBeDefined();
  lock?.release();
});

it('is a file that no other user can open, and so none can lock', async () => {
  const lock = tryLock(file);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  lock?.release();
});

it('throws when the file cannot be created', () => {
  expect(() => tryLock(join(folder, 'absent', 'x.lock'))).toThrow();
});
