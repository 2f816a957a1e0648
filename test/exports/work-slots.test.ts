import { describe, expect, it } from 'vitest';
import { Semaphore, urgently } from '../../src/semaphore.ts';
import { gate } from '../tools/proxies/gate.ts';

describe('Semaphore', () => {
  it('does as much at a time as it may, and the rest in order', async () => {
    const slots = new Semaphore(2);
    const gates = [gate(), gate(), gate(), gate()];
    const begun: number[] = [];
    const all = gates.map((stop, n) =>
      slots.use(undefined, async () => {
        begun.push(n);
        await stop.opened;
        return n;
      }),
    );
    await new Promise(setImmediate);
    expect(begun).toEqual([0, 1]);
    gates[1]?.open();
    expect(await all[1]).toBe(1);
    await new Promise(setImmediate);
    expect(begun).toEqual([0, 1, 2]);
    for (const stop of gates) stop.open();
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3]);
  });

  it('does urgent work ahead of what waits, and one beside what has all slots', async () => {
    const slots = new Semaphore(1);
    const begun: string[] = [];
    const gates = new Map(['first', 'usual', 'urgent 1', 'urgent 2'].map((name) => [name, gate()]));
    const use = (name: string) =>
      slots.use(undefined, async () => {
        begun.push(name);
        await gates.get(name)?.opened;
      });
    const first = use('first');
    const usual = use('usual');
    const urgent = ['urgent 1', 'urgent 2'].map((name) => urgently(() => use(name)));
    await new Promise(setImmediate);
    expect(begun).toEqual(['first', 'urgent 1']);
    gates.get('urgent 1')?.open();
    await urgent[0];
    await new Promise(setImmediate);
    expect(begun).toEqual(['first', 'urgent 1', 'urgent 2']);
    for (const stop of gates.values()) stop.open();
    await Promise.all([first, usual, ...urgent]);
    expect(begun).toEqual(['first', 'urgent 1', 'urgent 2', 'usual']);
  });

  it('gives the slot on after a failure', async () => {
    const slots = new Semaphore(1);
    const failing = slots.use(undefined, async () => {
      throw new Error('broken');
    });
    const next = slots.use(undefined, async () => 'done');
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('done');
  });

  it('lets one leave the queue, and refuses one that comes aborted', async () => {
    const slots = new Semaphore(1);
    const stop = gate();
    const first = slots.use(undefined, () => stop.opened);
    const [leaving, reason] = [new AbortController(), new Error('cancelled')];
    const second = slots.use(leaving.signal, async () => 'never');
    const third = slots.use(undefined, async () => 'third');
    leaving.abort(reason);
    await expect(second).rejects.toBe(reason);
    await expect(slots.use(leaving.signal, async () => 'never')).rejects.toBe(reason);
    stop.open();
    await first;
    expect(await third).toBe('third');
  });
});
