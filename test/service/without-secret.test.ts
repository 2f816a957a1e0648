import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WithoutSecret } from '../../src/service/outgoing-call.ts';

const through = async (chunks: Buffer[], secret: string) =>
  Buffer.concat(await Readable.from(chunks).pipe(new WithoutSecret(secret)).toArray()).toString('latin1');

describe('an answer without the key', () => {
  it('has asterisks in its place, however the key was cut into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'aab', 'aabab', 'x'), { maxLength: 12 }),
        fc.array(fc.nat(60), { maxLength: 6 }),
        async (pieces, cuts) => {
          const text = pieces.join('');
          const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
          const chunks = places.slice(1).map((end, i) => Buffer.from(text.slice(places[i], end)));
          expect(await through(chunks, 'aabab')).toBe(text.replaceAll('aabab', '*****'));
        },
      ),
    );
  });

  it('leaves other bytes as they are, of any length', async () => {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7919) % 256));
    expect(await through([bytes, bytes.subarray(0, 1)], 'vendor_admin_key')).toBe(
      Buffer.concat([bytes, bytes.subarray(0, 1)]).toString('latin1'),
    );
  });
});
