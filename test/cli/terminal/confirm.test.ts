import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { confirm } from '../../../src/cli/terminal/confirm.ts';

describe('confirm', () => {
  it.each([
    ['y\n', true],
    [' Yes\n', true],
    ['n\n', false],
    ['\n', false],
    ['yesterday\n', false],
    ['', false],
  ])('takes %j for %s', async (typed, answer) => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    input.end(typed);
    expect(await confirm('Remove it?', input, output)).toBe(answer);
    expect(String(output.read())).toContain('Remove it? [y/N]');
  });
});
