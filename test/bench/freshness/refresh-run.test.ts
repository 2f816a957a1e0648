import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadReference } from '../../../bench/freshness/reference.ts';
import { RefreshRun } from '../../../bench/freshness/refresh-run.ts';
import { playThreePasses } from '../../../bench/freshness/three-passes.ts';
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

describe('the simulation of three scheduled passes', () => {
  it('finds new entries and changes of status with as many requests, and waits for a sweep to find the rest', () => {
    const world = new World(worldOf());
    playThreePasses(world, 18);
    const { requests, new: fresh, status, silent } = world.measured();
    expect([fresh.events, status.events, silent.events]).toEqual([1, 2, 4]);
    expect(requests).toBe(72 * 18);
    expect(Math.max(fresh.p95S, status.p95S)).toBeLessThan(12 * 3_600);
    expect(silent.p95S).toBeGreaterThan(24 * 3_600);
  });
});

describe('a reference policy', () => {
  it('plays a world of ours, entries by their place and no two at the same moment', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-reference-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const worldModule = `export const STATUSES = ['pending', 'in_progress', 'resolved', 'dismissed'];
      export class World { constructor(drawn) { Object.assign(this, { drawn, end: 7 }); } }
      export const measure = (world) => world;`;
    const queueModule = `export class Queue {
      constructor(world, options) { this.run = (until) => Object.assign(world, { options, until }); } }`;
    await writeFile(join(folder, 'world.mjs'), worldModule);
    await writeFile(join(folder, 'queue.mjs'), queueModule);
    const world = { ...worldOf(Array.from({ length: 72 * 10 }, (_, n) => start + n)), entries: worldOf().entries };
    world.entries.push({ project: 'p', id: 'twin', createdAt: start - hour, status: 'resolved' });
    const played = (await loadReference(folder)).play(world, 0.9) as unknown as Record<string, unknown>;
    expect(played).toMatchObject({ until: 7, options: { reserve: 12, share: 0.9, weightNew: 10 } });
    const { projects, events } = played.drawn as { projects: { created: number[]; first: Uint8Array }[]; events: [] };
    expect(projects[0]?.created.slice(-4)).toEqual([
      start - hour,
      start - hour + 1,
      start + 1.1 * hour,
      start + 8.8 * hour,
    ]);
    expect(projects[0]?.first.slice(-4)).toEqual(Uint8Array.of(0, 2, 0, 0));
    expect(events.slice(0, 3)).toEqual([
      [start + 1.1 * hour, 0, 301, 'new', 0],
      [start + 2.2 * hour, 0, 259, 'status', 2],
      [start + 3.3 * hour, 0, 299, 'status', 1],
    ]);
  });
});
