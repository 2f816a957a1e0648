import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** A variable, a container that is empty until something is put in, or what a class keeps. */
const state =
  /^(export )?((let|var) |const \w+(: [^=]+)? = (new (Map|Set|WeakMap|WeakSet)(<.*>)?\(\)|\[\]|\{\});)|^ +static [\w #]+[:=]/m;

it.each([
  'let x = 1;',
  'export let x;',
  'const known = new Map<string, number>();',
  'const all: string[] = [];',
  'class A {\n  static readonly #seen = new Set<string>();\n}',
])('finds what a module keeps: %s', (line) => expect(`import { a } from 'b';\n${line}\n`).toMatch(state));

it('modules of workflows keep nothing, since all runs of a worker share them', () => {
  const modules = ['src/workflows', 'src/model'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
  );
  expect(modules.length).toBeGreaterThan(100);
  expect(modules.filter(({ parentPath, name }) => state.test(readFileSync(join(parentPath, name), 'utf8')))).toEqual(
    [],
  );
});
