import { describe, expect, it } from 'vitest';
import { ByteWindow } from '../../../src/exports/archive/byte-window.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';

const someBytes = Buffer.from(Array.from({ length: 100 }, (_, n) => n));

function windowOf(told: Buffer[] = [], start = 0): ByteWindow {
  const onRaw = (bytes: Uint8Array) => void told.push(Buffer.from(bytes));
  return new ByteWindow(bytesInMemory(someBytes), { start, end: someBytes.length }, onRaw, 16);
}

describe('a window that moves over a file', () => {
  it('keeps returned bytes intact until the second fill that follows', async () => {
    const window = windowOf();
    const first = await window.piece(16);
    const second = await window.piece(16);
    expect(first).toEqual(someBytes.subarray(0, 16));
    const third = await window.piece(16);
    expect([second, third]).toEqual([someBytes.subarray(16, 32), someBytes.subarray(32, 48)]);
  });

  it('takes back buffered bytes, and reads others again', async () => {
    const window = windowOf();
    for (let taken = 0; taken < 48; taken += 16) await window.piece(16);
    window.untake(3);
    expect([window.position, window.buffered]).toEqual([45, 3]);
    window.untake(40);
    expect([window.position, window.buffered]).toEqual([5, 0]);
    expect(await window.piece(100)).toEqual(someBytes.subarray(5, 21));
  });

  it('never takes back more than it returned', async () => {
    const window = windowOf([], 10);
    await window.piece(4);
    expect(() => window.untake(5)).toThrow(RangeError);
  });

  it('reports every byte once and in order, even if it is read again', async () => {
    const told: Buffer[] = [];
    const window = windowOf(told);
    for (let taken = 0; taken < 64; taken += 16) await window.piece(16);
    window.untake(50);
    while ((await window.piece(7)) !== null);
    expect(Buffer.concat(told)).toEqual(someBytes);
  });

  it('grows for a larger piece', async () => {
    const window = windowOf();
    await window.piece(10);
    expect(await window.fill(80)).toBe(true);
    expect(window.take(80)).toEqual(someBytes.subarray(10, 90));
    expect(await window.fill(11)).toBe(false);
  });
});
