import { expect, it } from 'vitest';
import { assertPortFree, findFreePort } from '../../src/embedded/ports.ts';

it('finds free ports outside the ephemeral range', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, findFreePort));
  // Ephemeral ports begin at 32768 on Linux, at 49152 elsewhere.
  expect(Math.max(...ports)).toBeLessThan(32_768);
  expect(Math.min(...ports)).toBeGreaterThan(1_024);
  await Promise.all(ports.map((port) => assertPortFree(port, '--port')));
});
