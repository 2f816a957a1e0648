import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, expectTypeOf, it } from 'vitest';
import type { Workflows } from '../../src/contract.ts';
import { workflowTypes } from '../../src/rules/workflow-ids.ts';
import * as registered from '../../src/workflows/index.ts';

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
  const modules = ['src/workflows', 'src/contract.ts', ...rulesFolders()].flatMap(filesIn);
  expect(modules.length).toBeGreaterThan(40);
  expect(modules.filter((file) => state.test(readFileSync(file, 'utf8')))).toEqual([]);
});

it('workflows are registered under the names and with the types that clients know', () => {
  expect(Object.keys(registered).sort()).toEqual(Object.keys(workflowTypes).sort());
  expectTypeOf<Pick<typeof registered, keyof Workflows>>().toEqualTypeOf<Workflows>();
});

/** The folders of pure code: `src/rules` and each subject's own. */
function rulesFolders(): string[] {
  const subjects = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return ['src/rules', ...subjects.map(({ name }) => join('src', name, 'rules'))].filter((folder) =>
    existsSync(folder),
  );
}

function filesIn(place: string): string[] {
  if (statSync(place).isFile()) return [place];
  const entries = readdirSync(place, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}
