import { describe, expect, it } from 'vitest';
import { testNames } from './test-names.ts';

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
