import { describe, expect, it } from 'vitest';
import { never, type Part, RunningParts } from '../../src/cli/parts.ts';

function part(name: string, stopped: string[], ended: Part['ended'] = never): Part {
  return {
    name,
    ended,
    stop: async () => {
      stopped.push(name);
      if (name === 'stubborn') throw new Error('will not stop');
    },
  };
}

describe('running parts', () => {
  it('stop in reverse order, even when one fails to stop', async () => {
    const stopped: string[] = [];
    const failed: string[] = [];
    const parts = new RunningParts();
    for (const name of ['server', 'stubborn', 'worker']) parts.add(part(name, stopped));
    await parts.stop((name) => failed.push(name));
    expect(stopped).toEqual(['worker', 'stubborn', 'server']);
    expect(failed).toEqual(['stubborn']);
  });

  it('return the result of the work while all parts run', async () => {
    const parts = new RunningParts();
    parts.add(part('server', []));
    await expect(parts.during(Promise.resolve('done'))).resolves.toBe('done');
  });

  it('end the work when a part ends, with its reason', async () => {
    const parts = new RunningParts();
    const failure = { code: 'TemporalEnded', message: 'the server ended', hint: 'see the log', exitCode: 1 } as const;
    parts.add(part('server', [], Promise.resolve(failure)));
    await expect(parts.untilAborted(new AbortController().signal)).rejects.toMatchObject(failure);
  });

  it('name the part that ended without a reason', async () => {
    const parts = new RunningParts();
    parts.add(part('the worker', [], Promise.resolve(null)));
    await expect(parts.during(never)).rejects.toMatchObject({ message: 'the worker ended unexpectedly', exitCode: 1 });
  });

  it('wait for the signal', async () => {
    const parts = new RunningParts();
    const controller = new AbortController();
    const waited = parts.untilAborted(controller.signal);
    controller.abort();
    await expect(waited).resolves.toBeUndefined();
  });
});
