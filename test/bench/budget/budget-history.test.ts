import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, it } from 'vitest';
import { ledgerOf } from '../../../bench/budget/budget-history.ts';

const settings = { capacity: 10, windowMs: 20_000, arrivalMs: 2_000 };
/** A budget of ten requests in 20 s, recorded once; what it holds is known. */
const recorded = (file = 'test/bench/budget/recorded-budget.json') =>
  historyFromJSON(JSON.parse(readFileSync(file, 'utf8')));

describe('the ledger of a recorded budget', () => {
  it('holds what was reported as used, and knows that every lease was reported', () => {
    const ledger = ledgerOf([recorded()], settings);
    expect(ledger.unreported).toBe(0);
    // 26 permits were granted in all, two came back.
    expect(ledger.slots).toBe(24);
    // The budget itself answered a question at the first moment that it would have room at the second.
    expect(ledger.freeFrom(1_795_257_225_957)).toBe(1_795_257_245_657);
  });

  it('cannot be read from a history without a grant: the messages may have changed', () => {
    const histories = 'test/histories';
    const [noGrant = ''] = readdirSync(histories).filter((name) => name.startsWith('syncFeedback-'));
    expect(() => ledgerOf([recorded(join(histories, noGrant))], settings)).toThrow('holds no grant');
  });
});
