import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { SharedReading } from '../../../src/console/readings/shared-reading.ts';

const times = { freshMs: 30, maxWaitMs: 5, firstMs: 20 };

describe('a reading for everybody', () => {
  it('is taken once however many look at a time, and again only when it is old', async () => {
    let reads = 0;
    vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const reading = new SharedReading(async () => {
      reads += 1;
      return reads;
    }, times);
    const found = await Promise.all(Array.from({ length: 200 }, () => reading.get()));
    expect([reads, new Set(found.map(({ value }) => value)).size]).toEqual([1, 1]);
    await reading.get();
    expect(reads).toBe(1);
    vi.setSystemTime(Date.now() + 100);
    expect(await reading.get()).toMatchObject({ value: 2, late: false });
    reading.forget();
    expect(await reading.get()).toMatchObject({ value: 3 });
  });

  it('is shown for a while longer, while the next one is taken', async () => {
    let end: (value: string) => void = () => {};
    let source = async () => 'first';
    const reading = new SharedReading(() => source(), { ...times, freshMs: 1_000 });
    await reading.get();
    vi.useFakeTimers({ now: Date.now() + 1_500, toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    source = () =>
      new Promise((resolve) => {
        end = resolve;
      });
    expect(await reading.get()).toMatchObject({ value: 'first', late: false });
    end('second');
    await expect.poll(async () => (await reading.get()).value).toBe('second');
  });

  it('never is one that was begun before something was done', async () => {
    const ends: ((value: string) => void)[] = [];
    const reading = new SharedReading(() => new Promise<string>((resolve) => ends.push(resolve)), {
      freshMs: 10_000,
      maxWaitMs: 10_000,
      firstMs: 10_000,
    });
    const first = reading.get();
    ends[0]?.('first');
    await first;
    reading.forget();
    const before = reading.get();
    reading.forget();
    const after = reading.get();
    ends[1]?.('before');
    ends[2]?.('after');
    expect((await after).value).toBe('after');
    await before;
    expect(await reading.get()).toMatchObject({ value: 'after', late: false });
  });

  it('says of what time it is, also where something was done since and the next one is slow', async () => {
    let source: () => Promise<string> = async () => 'first';
    const reading = new SharedReading(() => source(), times);
    const { at } = await reading.get();
    expect(at).toBeGreaterThan(0);
    source = () => new Promise(() => {});
    reading.forget();
    expect(await reading.get()).toEqual({ value: 'first', at, late: true });
  });

  it('is an old one that says so while its source is slow or away, and never hangs', async () => {
    let source: () => Promise<string> = async () => 'first';
    const reading = new SharedReading(() => source(), times);
    await reading.get();
    source = () => new Promise(() => {});
    await sleep(100);
    expect(await reading.get()).toMatchObject({ value: 'first', late: true });
    const failing = new SharedReading(() => source(), times);
    source = async () => 'first';
    await failing.get();
    source = async () => {
      throw new Error('away');
    };
    await sleep(100);
    expect(await failing.get()).toMatchObject({ value: 'first', late: true });
  });

  it('fails only when there has never been one', async () => {
    await expect(new SharedReading(() => new Promise(() => {}), times).get()).rejects.toThrow('in time');
    const away = async () => {
      throw new Error('away');
    };
    await expect(new SharedReading(away, times).get()).rejects.toThrow('away');
  });

  it('is taken again and again only while somebody listens, who hears of changes', async () => {
    let value = 1;
    let reads = 0;
    const reading = new SharedReading(
      async () => {
        reads += 1;
        return { counts: new Map([['a', value]]) };
      },
      { ...times, freshMs: 5 },
    );
    let heard = 0;
    const listeners = Array.from({ length: 50 }, () =>
      reading.listen(() => {
        heard += 1;
      }),
    );
    await expect.poll(() => reads).toBeGreaterThan(1);
    // Of the first reading, which nobody has seen yet.
    expect(heard).toBe(50);
    value = 2;
    await expect.poll(() => heard).toBe(100);
    for (const stop of listeners) stop();
    await sleep(10);
    const after = reads;
    await sleep(30);
    expect([reading.listeners, reads]).toEqual([0, after]);
  });
});
