import { describe, expect, it } from 'vitest';
import { type TakeOver, takeOverBudgets } from '../../src/budget/client.ts';

const orgs = Array.from({ length: 100 }, (_, n) => `org-${n}`);

/** A worker's start against budgets of which some fail once; `most` is how many were told at the same time. */
async function takenOver(over: Partial<TakeOver> = {}, failing: readonly string[] = []) {
  const seen = { configured: [] as string[], searches: [] as string[][], failures: [] as string[], most: 0 };
  const toFail = new Set(failing);
  let now = 0;
  const how: TakeOver = {
    orgs,
    async configure(org) {
      now += 1;
      seen.most = Math.max(seen.most, now);
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      if (toFail.delete(org)) throw new Error('no answer');
      seen.configured.push(org);
    },
    retryKeys: async (some) => void seen.searches.push([...some]),
    onFailure: (org) => seen.failures.push(org),
    stopped: () => false,
    ...over,
  };
  await takeOverBudgets(how, 1);
  return seen;
}

describe('takeOverBudgets', () => {
  it('tells a few budgets at a time, and searches once for what waits for any key', async () => {
    const { configured, searches, most } = await takenOver();
    expect([configured.length, most]).toEqual([100, 16]);
    expect(searches).toEqual([orgs]);
  });

  it('tells a budget that did not answer again, and then searches for its organization', async () => {
    const { configured, searches, failures } = await takenOver({}, ['org-3', 'org-99']);
    expect(configured).toHaveLength(100);
    expect(failures).toEqual(['org-3', 'org-99']);
    expect(searches.map((found) => found.length)).toEqual([98, 2]);
  });

  it('searches again when the search failed, and ends when the worker stops', async () => {
    let searches = 0;
    const retryKeys = async () => {
      searches += 1;
      if (searches === 1) throw new Error('no answer');
    };
    expect((await takenOver({ retryKeys })).failures).toEqual(['']);
    expect(searches).toBe(2);
    expect((await takenOver({ stopped: () => true })).configured).toEqual([]);
  });
});
