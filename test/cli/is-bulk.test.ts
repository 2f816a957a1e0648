import { describe, expect, it } from 'vitest';
import { isBulk, refuseInBulk } from '../../src/cli/flags.ts';
import { docferry, docferryJson, folderWithConfig } from '../tools/cli/run-docferry.ts';

describe('commands for one or many', () => {
  it.each([
    [undefined, {}, "missing required argument 'domain'"],
    ['docs.acme.example', { all: true }, 'not both'],
  ])('take exactly one way to say which: %j with %j', (name, flags, said) => {
    expect(() => isBulk(name, flags, 'domain')).toThrow(said);
  });

  it('know one from many', () => {
    expect([isBulk('docs.acme.example', {}, 'domain'), isBulk(undefined, { org: 'acme' }, 'domain')]).toEqual([
      false,
      true,
    ]);
    const said = '--wait works with a single project: remove --all, --org and --match';
    expect(() => refuseInBulk({ '--wait': true }, 'project')).toThrow(said);
    expect(() => refuseInBulk({ '--wait': undefined, '--plan': false }, 'project')).not.toThrow();
  });

  it.each([
    [['feedback', 'cancel', 'prj_1'], 2, '--pass'],
    [['export', 'hold', '--match', 'nothing.*', '--yes'], 4, 'none of the configured sites matches'],
  ])('%j ends with %d', async (args, exitCode, said) => {
    const ended = await docferry(args, { cwd: await folderWithConfig() });
    expect(ended.exitCode).toBe(exitCode);
    expect(ended.stderr).toContain(said);
  });

  it('leaves out what needs nothing, and says so', async () => {
    const cwd = await folderWithConfig();
    const { exitCode, document } = await docferryJson(['export', 'release', '--all'], { cwd });
    expect(exitCode).toBe(0);
    expect(document).toMatchObject({ sites: [], totals: { done: 0, failed: 0, left: 1 } });
  });
});
