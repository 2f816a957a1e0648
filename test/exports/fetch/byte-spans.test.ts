import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteSpans } from '../../../src/exports/fetch/partial-file.ts';

const totalLength = 40;
const step = fc.record({
  add: fc.boolean(),
  start: fc.integer({ min: 0, max: totalLength }),
  length: fc.integer({ min: 0, max: 15 }),
});

describe('ByteSpans', () => {
  it('equals a plain set of bytes, in spans that do not touch', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const spans = new ByteSpans();
        const bytes = Array.from({ length: totalLength }, () => false);
        for (const { add, start, length } of steps) {
          const span = { start, end: Math.min(totalLength, start + length) };
          if (add) spans.add(span);
          else spans.remove(span);
          bytes.fill(add, span.start, span.end);
        }
        const held = bytes.map((_, at) => spans.spans.some(({ start, end }) => start <= at && at < end));
        expect(held).toEqual(bytes);
        expect(spans.count).toBe(bytes.filter(Boolean).length);
        expect(spans.prefix).toBe(bytes.includes(false) ? bytes.indexOf(false) : totalLength);
        const gaps = bytes.map((_, at) => spans.gaps(totalLength).some(({ start, end }) => start <= at && at < end));
        expect(gaps).toEqual(bytes.map((byte) => !byte));
        for (const [index, { start, end }] of spans.spans.entries()) {
          expect(start).toBeLessThan(end);
          expect(start).toBeGreaterThan(spans.spans[index - 1]?.end ?? -1);
        }
      }),
    );
  });
});
