import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { confirm, startInterruptibly } from '../../../src/cli/terminal/prompts.ts';

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

describe('a start under Ctrl-C', () => {
  it('goes on to its end, is noted at once, and leaves the interruption to what follows', async () => {
    const notes: string[] = [];
    const { started, interrupt } = await startInterruptibly({ note: (text) => notes.push(text) }, async () => {
      process.emit('SIGINT');
      return notes.length;
    });
    expect(started).toBe(1);
    expect(notes).toEqual([expect.stringContaining('press Ctrl-C again to stop now')]);
    expect(interrupt.signal.aborted).toBe(true);
    interrupt.dispose();
  });

  it('that fails leaves the signals to others', async () => {
    const listeners = process.listenerCount('SIGINT');
    const failing = startInterruptibly({ note: () => {} }, () => Promise.reject(new Error('refused')));
    await expect(failing).rejects.toThrow('refused');
    expect(process.listenerCount('SIGINT')).toBe(listeners);
  });
});
