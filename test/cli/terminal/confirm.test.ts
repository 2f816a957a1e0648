import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { confirm } from '../../../src/cli/terminal/prompts.ts';

const question = { text: 'Remove it?', declined: 'nothing was removed' };

function terminal(typed: string, isTTY = true) {
  const [input, output] = [Object.assign(new PassThrough(), { isTTY }), new PassThrough()];
  input.end(typed);
  return { input, output };
}

describe('confirm', () => {
  it.each(['y\n', ' Yes\n'])('takes %j for yes', async (typed) => {
    const { input, output } = terminal(typed);
    await confirm(question, false, { input, output });
    expect(String(output.read())).toContain('Remove it? [y/N]');
  });

  it.each(['n\n', '\n', 'yesterday\n', ''])('takes %j for no', async (typed) => {
    await expect(confirm(question, false, terminal(typed))).rejects.toMatchObject({
      code: 'Declined',
      message: 'nothing was removed',
      exitCode: 1,
    });
  });

  it('asks nothing with --yes', async () => {
    const { input, output } = terminal('n\n', false);
    await confirm(question, true, { input, output });
    expect(output.read()).toBeNull();
  });

  it('is a usage failure without a terminal, even when the input says yes', async () => {
    await expect(confirm(question, false, terminal('y\n', false))).rejects.toMatchObject({ exitCode: 2 });
  });
});
