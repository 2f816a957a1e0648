import { describe, expect, it } from 'vitest';
import { inBatches } from '../../src/temporal/runs.ts';

describe('inBatches', () => {
  it('keeps the order of the results, and lets a slow one hold up no other', async () => {
    const ended: number[] = [];
    const slow = withResolvers();
    const all = inBatches([0, 1, 2, 3, 4], 2, async (n) => {
      if (n === 0) await slow.promise;
      ended.push(n);
      if (n === 4) slow.resolve(undefined);
      return n * 10;
    });
    expect(await all).toEqual([0, 10, 20, 30, 40]);
    expect(ended).toEqual([1, 2, 3, 4, 0]);
  });

  it('begins nothing more once one has failed', async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const work = async (n: number) => {
      begun.push(n);
      if (n === 1) throw new Error('no');
      await new Promise((resolve) => setImmediate(resolve));
      ended.push(n);
    };
    await expect(inBatches([0, 1, 2, 3, 4, 5], 2, work)).rejects.toThrow('no');
    expect(begun).toEqual([0, 1]);
    // What had begun is not left behind: a command keeps it in the audit.
    expect(ended).toEqual([0]);
    expect(await inBatches([], 2, work)).toEqual([]);
  });
});

function withResolvers() {
  let resolve: (value: unknown) => void = () => {};
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
