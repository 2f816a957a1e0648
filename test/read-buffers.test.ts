import { describe, expect, it } from 'vitest';
import { ReadBuffers } from '../src/files.ts';

/** A socket that reads into the buffers it is given. */
function socketOf(buffers: ReadBuffers) {
  const chunks: Buffer[] = [];
  const { buffer, callback } = buffers.socketOptions((chunk) => chunks.push(chunk) > 0);
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

describe('read buffers', () => {
  it('lend a filled buffer, and reuse it once it is released', () => {
    const buffers = new ReadBuffers(1);
    const socket = socketOf(buffers);
    const first = socket.read(buffers.bytes, 1);
    const second = socket.read(buffers.bytes, 2);
    expect(second.buffer).not.toBe(first.buffer);
    expect(socket.chunks[0]?.[0]).toBe(1);
    buffers.release(socket.chunks[0] ?? Buffer.alloc(0));
    socket.read(buffers.bytes, 3);
    const fourth = socket.read(buffers.bytes, 4);
    expect(fourth.buffer).toBe(first.buffer);
  });

  it('copy a small chunk, and read into the same buffer again', () => {
    const buffers = new ReadBuffers(1);
    const socket = socketOf(buffers);
    expect(socket.read(10, 1).buffer).toBe(socket.read(10, 2).buffer);
    expect(socket.chunks.map((chunk) => chunk[0])).toEqual([1, 2]);
  });

  it('never reuse a buffer that another chunk may still point into', () => {
    const buffers = new ReadBuffers(1);
    const socket = socketOf(buffers);
    const first = socket.read(buffers.bytes, 1);
    const [chunk = Buffer.alloc(0)] = socket.chunks;
    buffers.release(chunk.subarray(100));
    buffers.release(chunk.subarray(0, 100));
    buffers.release(Buffer.alloc(buffers.bytes));
    socket.read(buffers.bytes, 2);
    expect(socket.read(buffers.bytes, 3).buffer).not.toBe(first.buffer);
    expect(chunk[0]).toBe(1);
    buffers.release(chunk);
    buffers.release(chunk);
    socket.read(buffers.bytes, 4);
    const again = [socket.read(buffers.bytes, 5), socket.read(buffers.bytes, 6), socket.read(buffers.bytes, 7)];
    expect(again.filter(({ buffer }) => buffer === first.buffer).length).toBeLessThanOrEqual(1);
  });

  it.each([1, 2, 3, 9, 64])('take a few megabytes altogether with %i connections', (connections) => {
    const { bytes } = new ReadBuffers(connections);
    expect(Number.isInteger(bytes)).toBe(true);
    expect(bytes * connections).toBeLessThanOrEqual(4 * 1024 ** 2);
  });
});
