import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { instant, Lease, LeaseOver } from '../../src/budget/lease.ts';

/** The budget's clock, far from this machine's. */
const t0 = 5_000_000;
const granted = {
  kind: 'granted' as const,
  leaseId: 'l1',
  grantedAt: t0,
  useBy: t0 + 15_000,
  notBefore: [t0, t0, t0 + 800],
  arrivalMs: 30_000,
  forecast: null,
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A lease whose answer took 400 ms: the budget granted at an unknown moment in between. */
function lease(): Lease {
  const askedAt = instant();
  vi.advanceTimersByTime(400);
  return new Lease(granted, askedAt, instant());
}

describe('a lease in use', () => {
  it('lets every permit be used once, none before its moment', () => {
    const current = lease();
    current.take();
    current.take();
    expect(current.untilNext()).toBe(800);
    expect(() => current.take()).toThrow(LeaseOver);
    vi.advanceTimersByTime(800);
    current.take();
    expect(current.untilNext()).toBe(Number.POSITIVE_INFINITY);
    expect(() => current.take()).toThrow(LeaseOver);
  });

  it('counts the time of asking against the lease: it is over 15 s after the question, not after the answer', () => {
    const current = lease();
    vi.advanceTimersByTime(14_599);
    expect(current.untilNext()).toBe(0);
    vi.advanceTimersByTime(1);
    expect(() => current.take()).toThrow(LeaseOver);
  });

  it('is over after the machine slept, though the monotonic clock stood still', () => {
    const current = lease();
    vi.setSystemTime(Date.now() + 60_000);
    expect(() => current.take()).toThrow(LeaseOver);
  });

  it('reports answered requests at the latest moment they can have arrived, unanswered ones D after their check', () => {
    const current = lease();
    const first = current.take();
    vi.advanceTimersByTime(50);
    first.answered();
    current.take();
    expect(current.settlement()).toEqual({ leaseId: 'l1', arrived: [t0 + 450, t0 + 450 + 30_000], accepted: true });
    expect(current.settlement({ throttled: { retryAfterMs: 7 } })).toMatchObject({ throttled: { retryAfterMs: 7 } });
  });

  it('says whether the service accepted anything: a refusal alone says nothing good of the key', () => {
    const current = lease();
    current.take().answered('refused');
    expect(current.settlement({ unauthorized: true })).toMatchObject({ accepted: false, unauthorized: true });
  });

  it('reports an unanswered request D after it was written, if the process was stopped since the check', () => {
    const current = lease();
    const request = current.take();
    vi.advanceTimersByTime(60_000);
    request.written();
    expect(current.settlement().arrived).toEqual([t0 + 400 + 60_000 + 30_000]);
  });

  it('keeps requests under way at the same time apart, and reports the refused one last', () => {
    const current = lease();
    const [first, second] = [current.take(), current.take()];
    vi.advanceTimersByTime(50);
    first.answered('refused');
    vi.advanceTimersByTime(50);
    second.answered();
    expect(current.settlement()).toMatchObject({ arrived: [t0 + 500, t0 + 450], accepted: true });
  });

  it('lets nothing be sent once it is settled: the budget may have granted its permits to others', () => {
    const current = lease();
    expect(current.settlement().arrived).toEqual([]);
    expect(current.untilNext()).toBe(Number.POSITIVE_INFINITY);
    expect(() => current.take()).toThrow(LeaseOver);
  });
});
