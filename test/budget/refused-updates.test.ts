import { ServiceError } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { hasCode, InFlight, untilAdmitted } from '../../src/budget/client.ts';

const exhausted = 8;
const precondition = 9;
const unavailable = 14;

/** What the client throws when the server answers with a code of gRPC, as deep as it comes. */
const refusal = (code: number): Error =>
  new Error('Workflow Update failed', {
    cause: new ServiceError('Failed', {
      cause: Object.assign(new Error('refused'), { code, details: '', metadata: {} }),
    }),
  });

describe('InFlight', () => {
  it('lets five updates of a workflow go at a time, the others in their order, and does not count other workflows', async () => {
    const inFlight = new InFlight();
    const started: string[] = [];
    const ends = new Map<string, () => void>();
    const run = (name: string, update: string) =>
      inFlight.run(name, async () => {
        started.push(update);
        await new Promise<void>((resolve) => ends.set(update, resolve));
        return update;
      });
    const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'].map((update) => run('budget:a', update));
    const other = run('budget:b', 'b1');
    await expect.poll(() => started).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1']);
    ends.get('a3')?.();
    expect(await all[2]).toBe('a3');
    await expect.poll(() => started.at(-1)).toBe('a6');
    for (const update of ['a1', 'a2', 'a4', 'a5', 'a6', 'b1']) ends.get(update)?.();
    await expect.poll(() => started.at(-1)).toBe('a7');
    ends.get('a7')?.();
    expect(await Promise.all([...all, other])).toHaveLength(8);
  });

  it('gives the place of an update that failed to the next', async () => {
    const inFlight = new InFlight();
    const failing = Array.from({ length: 5 }, () => inFlight.run('a', () => Promise.reject(new Error('no'))));
    const next = inFlight.run('a', async () => 'done');
    await Promise.allSettled(failing);
    expect(await next).toBe('done');
  });
});

describe('untilAdmitted', () => {
  beforeEach(() => {
    // The pauses are real ones: only how long it has tried is not.
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Sends an update that the server always refuses with this code, each time so much later; tells how often. */
  async function refusedWith(code: number, stepMs: number): Promise<{ sent: number; error: unknown }> {
    let sent = 0;
    const send = () => {
      sent += 1;
      vi.advanceTimersByTime(stepMs);
      return Promise.reject(refusal(code));
    };
    const error = await untilAdmitted(send).catch((reason: unknown) => reason);
    return { sent, error };
  }

  it('sends again what the server refused while others were under way', async () => {
    const send = vi.fn().mockRejectedValueOnce(refusal(exhausted)).mockRejectedValueOnce(refusal(precondition));
    expect(await untilAdmitted(send.mockResolvedValue('granted'))).toBe('granted');
    expect(send).toHaveBeenCalledTimes(3);
  });

  it('gives a crowd a minute, a workflow that nobody works for five seconds', async () => {
    const crowd = await refusedWith(exhausted, 20_000);
    expect(crowd.sent).toBe(3);
    expect(hasCode(crowd.error, new Set([exhausted]))).toBe(true);
    expect((await refusedWith(precondition, 2_000)).sent).toBe(3);
  });

  it('does not send again what failed for another reason', async () => {
    expect(await refusedWith(unavailable, 1)).toMatchObject({ sent: 1 });
  });
});
