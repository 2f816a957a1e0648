import { describe, expect, it } from 'vitest';
import { ReadBuffers } from '../../../src/bundle/download/read-buffers.ts';

/** A socket that reads into the buffers it is given. */
function socketOf(reads: ReadBuffers) {
  const chunks: Buffer[] = [];
  const { buffer, callback } = reads.options((chunk) => chunks.push(chunk) > 0);
  const next = () => (typeof buffer === 'function' ? buffer() : buffer);
  return {
    chunks,
    read(length: number, value: number): Uint8Array {
      const into = next();
      into.fill(value, 0, length);
      callback(length, into);
      return into;
    },
  };
}

describe('wide reads', () => {
  it('lend a buffer that was filled, and use it again when it comes back', () => {
    const reads = new ReadBuffers(1);
    const socket = socketOf(reads);
    const first = socket.read(reads.bytes, 1);
    const second = socket.read(reads.bytes, 2);
    expect(second.buffer).not.toBe(first.buffer);
    expect(socket.chunks[0]?.[0]).toBe(1);
    reads.give(socket.chunks[0] ?? Buffer.alloc(0));
    socket.read(reads.bytes, 3);
    const fourth = socket.read(reads.bytes, 4);
    expect(fourth.buffer).toBe(first.buffer);
  });

  it('copy what is little, and read into the same buffer', () => {
    const reads = new ReadBuffers(1);
    const socket = socketOf(reads);
    expect(socket.read(10, 1).buffer).toBe(socket.read(10, 2).buffer);
    expect(socket.chunks.map((chunk) => chunk[0])).toEqual([1, 2]);
  });

  it('never use a buffer again of which somebody may still hold another part', () => {
    const reads = new ReadBuffers(1);
    const socket = socketOf(reads);
    const first = socket.read(reads.bytes, 1);
    const [chunk = Buffer.alloc(0)] = socket.chunks;
    reads.give(chunk.subarray(100));
    reads.give(chunk.subarray(0, 100));
    reads.give(Buffer.alloc(reads.bytes));
    socket.read(reads.bytes, 2);
    expect(socket.read(reads.bytes, 3).buffer).not.toBe(first.buffer);
    expect(chunk[0]).toBe(1);
    reads.give(chunk);
    reads.give(chunk);
    socket.read(reads.bytes, 4);
    const again = [socket.read(reads.bytes, 5), socket.read(reads.bytes, 6), socket.read(reads.bytes, 7)];
    expect(again.filter(({ buffer }) => buffer === first.buffer).length).toBeLessThanOrEqual(1);
  });

  it.each([1, 2, 3, 9, 64])('take a few megabytes over %i connections', (connections) => {
    const { bytes } = new ReadBuffers(connections);
    expect(Number.isInteger(bytes)).toBe(true);
    expect(bytes * connections).toBeLessThanOrEqual(4 * 1024 ** 2);
  });
});
