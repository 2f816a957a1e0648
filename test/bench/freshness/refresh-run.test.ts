import { describe, expect, it } from 'vitest';
import { RefreshRun } from '../../../bench/freshness/refresh-run.ts';
import { World, type WorldEvent, type WorldFile } from '../../../bench/freshness/world.ts';

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 5);

/** A project of 300 entries, an hour apart, to which something of each kind happens on the first day. */
function worldOf(others: number[] = []): WorldFile {
  const event = (hours: number, id: string, kind: WorldEvent['kind'], status: string): WorldEvent => ({
    at: start + hours * hour,
    project: 'p',
    id,
    kind,
    status,
  });
  return {
    start,
    days: 3,
    limit: 20,
    windowMs: hour,
    measureFrom: start,
    measureTo: start + 24 * hour,
    projects: ['p'],
    entries: Array.from({ length: 300 }, (_, n) => ({
      project: 'p',
      id: `f${n}`,
      createdAt: start - (n + 1) * hour,
      status: n % 20 === 0 ? 'pending' : 'resolved',
    })),
    events: [
      event(1.1, 'new1', 'new', 'pending'),
      event(2.2, 'f40', 'status', 'resolved'),
      event(3.3, 'f0', 'status', 'in_progress'),
      event(4.4, 'f250', 'edit', 'resolved'),
      event(5.5, 'f120', 'silent', 'dismissed'),
      event(6.6, 'f60', 'delete', 'pending'),
      event(7.7, 'f299', 'delete', 'resolved'),
      event(8.8, 'new2', 'new', 'pending'),
      event(8.8, 'new2', 'delete', 'pending'),
    ],
    others,
  };
}

describe('the simulation of refresh', () => {
  it('finds everything that happens, new entries soonest, and counts what nobody can see for nothing', () => {
    const world = new World(worldOf());
    const expected = new RefreshRun(world, { share: 0.9, everyMs: 60_000, reserve: 0 }).play();
    const { refused, J, new: fresh, status, silent } = world.measured();
    expect({ refused, events: [fresh.events, status.events, silent.events] }).toEqual({
      refused: 0,
      events: [1, 2, 4],
    });
    expect(fresh.meanS).toBeLessThan(3_600);
    expect(Math.max(status.p95S, silent.p95S)).toBeLessThan(12 * 3_600);
    expect(J).toBeCloseTo(fresh.j + status.j + silent.j);
    expect(expected.newMs).toBeLessThan(hour);
  });

  it('learns what other clients use, and leaves it to them', () => {
    const others = Array.from({ length: 72 * 10 }, (_, n) => start + n * 6 * 60_000 + 1_000);
    const world = new World(worldOf(others));
    new RefreshRun(world, { share: 0.9, everyMs: 60_000, reserve: 0 }).play();
    const { refused, requests, othersRefused } = world.measured();
    expect(requests).toBeLessThan(72 * 10);
    expect(requests).toBeGreaterThan(72 * 6);
    expect(refused).toBeGreaterThan(0);
    expect(refused + othersRefused).toBeLessThan(60);
  });
});
