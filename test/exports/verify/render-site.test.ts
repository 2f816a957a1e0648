import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isSingleColour, PageFindings, samplePages } from '../../../src/exports/verify/render-site.ts';

type Row = { filter: number; pixels: number[][] };

const chunk = (type: string, data: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)]);
};

/** A PNG of rows of pixels, each row through its filter, the data cut into two chunks. */
function png(rows: Row[], { depth = 8, colour = 2 } = {}): Buffer {
  const size = rows[0]?.pixels[0]?.length ?? 3;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(rows[0]?.pixels.length ?? 0, 0);
  header.writeUInt32BE(rows.length, 4);
  header.set([depth, colour, 0, 0, 0], 8);
  let above: number[] = [];
  const lines = rows.map(({ filter, pixels }) => {
    const row = pixels.flat();
    const filtered = row.map((value, x) => {
      const [left, up, corner] = [
        x < size ? 0 : (row[x - size] ?? 0),
        above[x] ?? 0,
        x < size ? 0 : (above[x - size] ?? 0),
      ];
      const near = [left, up, corner].map((side) => Math.abs(left + up - corner - side));
      const [a = 0, b = 0, c = 0] = near;
      const paeth = a <= b && a <= c ? left : b <= c ? up : corner;
      const guess = [0, left, up, Math.floor((left + up) / 2), paeth][filter] ?? 0;
      return (value - guess) & 255;
    });
    above = row;
    return Buffer.from([filter, ...filtered]);
  });
  const data = deflateSync(Buffer.concat(lines));
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', data.subarray(0, 5)),
    chunk('IDAT', data.subarray(5)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const filter = fc.integer({ min: 0, max: 4 });
const colour = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 3, maxLength: 3 });

it('knows an image of one colour, whatever the filters of its rows', () => {
  fc.assert(
    fc.property(
      colour,
      fc.array(filter, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 9 }),
      (one, filters, width) => {
        const rows = filters.map((found) => ({ filter: found, pixels: Array.from({ length: width }, () => one) }));
        expect(isSingleColour(png(rows))).toBe(true);
      },
    ),
  );
});

it('sees a single pixel that differs, wherever it is', () => {
  fc.assert(
    fc.property(colour, fc.array(filter, { minLength: 2, maxLength: 8 }), fc.nat(), fc.nat(), (one, filters, x, y) => {
      const rows = filters.map((found) => ({ filter: found, pixels: Array.from({ length: 5 }, () => [...one]) }));
      const pixel = rows[y % rows.length]?.pixels[x % 5];
      if (pixel) pixel[2] = ((pixel[2] ?? 0) + 1) & 255;
      expect(isSingleColour(png(rows))).toBe(false);
    }),
  );
});

it('refuses other images', () => {
  expect(() => isSingleColour(Buffer.from('<svg/>'))).toThrow(TypeError);
  expect(() => isSingleColour(png([{ filter: 0, pixels: [[1, 2, 3]] }], { colour: 3 }))).toThrow(TypeError);
});

it('keeps 25 different findings of each rule, cut to 300 characters, and counts the rest', () => {
  const findings = new PageFindings();
  for (let i = 0; i < 1_000; i++) findings.add('page-script-error', `${i} ${'x'.repeat(100_000)}`);
  for (let i = 0; i < 3; i++) findings.add('page-does-not-render', 'it does not load');
  const kept = findings.of('page-script-error');
  expect([kept.length, findings.dropped('page-script-error')]).toEqual([25, 975]);
  expect(new Set(kept.map(({ length }) => length))).toEqual(new Set([300]));
  expect(findings.of('page-does-not-render')).toEqual(['it does not load']);
  expect([findings.of('page-request-failed'), findings.dropped('page-request-failed')]).toEqual([[], 0]);
});

const paths = ['a.css', ...Array.from({ length: 50 }, (_, index) => `p/${index}.html`), 'index.html'];

it('takes the index page and others: the same for the same archive, others for another', () => {
  const sample = samplePages(paths, 'a'.repeat(64), 5);
  expect(sample).toHaveLength(5);
  expect(sample[0]).toBe('index.html');
  expect(new Set(sample).size).toBe(5);
  expect(samplePages([...paths].reverse(), 'a'.repeat(64), 5)).toEqual(sample);
  expect(samplePages(paths, 'b'.repeat(64), 5)).not.toEqual(sample);
  expect(samplePages(paths, 'a'.repeat(64), 8).slice(0, 5)).toEqual(sample);
  expect(samplePages(['a.css', 'x.html'], 'a'.repeat(64), 5)).toEqual(['x.html']);
});
