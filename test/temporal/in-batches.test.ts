import { describe, expect, it } from 'vitest';
import { inBatches, untilAllDone } from '../../src/temporal/runs.ts';

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

describe('untilAllDone', () => {
  it('does all, a few at a time, and what failed again', async () => {
    const done: number[] = [];
    const failures: number[] = [];
    const toFail = new Set([3, 39]);
    let [underWay, most] = [0, 0];
    const work = async (item: number) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      if (toFail.delete(item)) throw new Error('no answer');
      done.push(item);
    };
    const items = Array.from({ length: 40 }, (_, item) => item);
    const how = { onFailure: (item: number) => failures.push(item), stopped: () => false };
    await untilAllDone(items, work, how, 1);
    expect(done.toSorted((a, b) => a - b)).toEqual(items);
    expect({ most, failures }).toEqual({ most: 16, failures: [3, 39] });
  });

  it('insists on nothing, and reports no failure, once the worker stops', async () => {
    let [stopped, tries] = [false, 0];
    const failures: string[] = [];
    const work = async () => {
      tries += 1;
      stopped = true;
      throw new Error('closed');
    };
    const how = { onFailure: (item: string) => failures.push(item), stopped: () => stopped };
    await untilAllDone(['a', 'b'], work, how, 1);
    expect({ tries, failures }).toEqual({ tries: 1, failures: [] });
  });
});
