import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { interfacePage, interfaceSections, namedTest } from '../../scripts/docs/interface-page.ts';
import { testNames } from './test-names.ts';

const requirements = interfaceSections.flatMap((section) => section.requirements);

function exists(test: string): boolean {
  const { file, name } = namedTest(test);
  return existsSync(file) && testNames(readFileSync(file, 'utf8')).includes(name);
}

describe('docs/interface-coverage.md', () => {
  it('has a test for every line', () => {
    expect(requirements.length).toBeGreaterThan(100);
    const empty = requirements.filter(([id, says, ...tests]) => !id || !says || tests.length === 0);
    expect(empty).toEqual([]);
  });

  it('has every line once', () => {
    const ids = requirements.map(([id]) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it('names only tests that exist', () => {
    const gone = requirements.flatMap(([id, , ...tests]) =>
      tests.filter((test) => !exists(test)).map((test) => `${id}: ${test}`),
    );
    expect(gone).toEqual([]);
  });

  it('links each line to its tests', () => {
    const rows = interfacePage()
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    expect(rows).toHaveLength(requirements.length);
    for (const row of rows) expect(row).toMatch(/^\| `[\w.]+` \| .+ \| \[.+\]\(\.\.\/test\/.+\.test\.ts\): .+ \|$/);
  });
});

describe('names of tests', () => {
  const source = `
import { describe, it } from 'vitest';
it('alone', () => {});
describe('a group', () => {
  it("is the service's", () => {});
  it.each<[string, Partial<Date>]>([['x', {}]])('says %s', () => {});
  it.each([
    ['a (b)', (link: string) => link],
  ])(
    'says %d, \\'quoted\\'',
    () => {},
  );
  describe.skipIf(process.platform === 'win32')('inside', () => {
    it('is deep', () => {});
  });
  it.skip('is skipped', () => {});
  it.todo('is to come');
});
describe.each(['tar', 'zip'])('a %s', () => {
  it(\`takes \\\${NAME}\`, () => {});
});
describe.skip('nothing', () => {
  it('runs', () => {});
});
`;

  it('are read with their groups, tables by their template, without what never runs', () => {
    expect(testNames(source)).toEqual([
      'alone',
      "a group > is the service's",
      'a group > says %s',
      "a group > says %d, 'quoted'",
      'a group > inside > is deep',
      `a %s > takes \${NAME}`,
    ]);
  });
});
