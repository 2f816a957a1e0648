import { describe, expect, it } from 'vitest';
import { Ledger, type LedgerLease } from '../../../bench/budget/budget-ledger.ts';

const settings = { capacity: 2, windowMs: 1_000, arrivalMs: 100 };
/** A window and what is held longer for clocks that drift. */
const held = 1_020;

function lease(id: string, grantedAt: number, permits: number): LedgerLease {
  return { id, grantedAt, useBy: grantedAt + 500, permits };
}

describe('the ledger worked out from the history of a budget', () => {
  it('holds reported requests for a window from their arrival, and gives unused permits back', () => {
    const ledger = new Ledger([lease('a', 0, 2)], [{ leaseId: 'a', at: 50, arrived: [40] }], settings);
    expect(ledger.slots).toBe(1);
    expect(ledger.unreported).toBe(0);
    // Both are held until the report, one from then on.
    expect(ledger.freeFrom(10)).toBe(50);
    expect(ledger.freeFrom(60)).toBe(60);
  });

  it('holds all permits of a lease that nobody reported until its end, D and a window later', () => {
    const ledger = new Ledger([lease('a', 0, 2)], [], settings);
    expect(ledger.slots).toBe(2);
    expect(ledger.unreported).toBe(1);
    expect(ledger.freeFrom(0)).toBe(500 + 100 + held);
  });

  it('finds the first moment with room among several leases', () => {
    const ledger = new Ledger(
      [lease('a', 0, 1), lease('b', 200, 1)],
      [
        { leaseId: 'a', at: 30, arrived: [20] },
        { leaseId: 'b', at: 230, arrived: [220] },
      ],
      settings,
    );
    expect(ledger.freeFrom(100)).toBe(100);
    expect(ledger.freeFrom(300)).toBe(20 + held);
    expect(ledger.freeFrom(5_000)).toBe(5_000);
  });

  it('takes a lease and a report in once, however often the history holds them', () => {
    const report = { leaseId: 'a', at: 50, arrived: [40] };
    const ledger = new Ledger(
      [lease('a', 0, 2), lease('a', 0, 2)],
      [report, { ...report, arrived: [40, 45] }],
      settings,
    );
    expect(ledger.slots).toBe(1);
  });
});
