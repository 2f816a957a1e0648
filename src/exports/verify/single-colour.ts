import { inflateSync } from 'node:zlib';

const signature = '89504e470d0a1a0a';
/** Bytes of a pixel, by the colour type in the header; screenshots have no others. */
const pixelBytes: Record<number, number> = { 2: 3, 6: 4 };

/** Whether all pixels of a PNG with 8 bits a channel and without interlacing, such as a screenshot, are the same. */
export function isSingleColour(png: Buffer): boolean {
  if (png.toString('hex', 0, 8) !== signature) throw new TypeError('a screenshot is no PNG');
  const width = png.readUInt32BE(16);
  const pixel = pixelBytes[png.readUInt8(25)];
  if (png.readUInt8(24) !== 8 || pixel === undefined || png.readUInt8(28) !== 0) {
    throw new TypeError('a screenshot is an unsupported kind of PNG');
  }
  const rows = inflateSync(Buffer.concat([...imageData(png)]));
  const length = width * pixel;
  let above = Buffer.alloc(length);
  let first: Buffer | null = null;
  for (let at = 0; at + 1 + length <= rows.length; at += 1 + length) {
    const row = Buffer.from(rows.subarray(at + 1, at + 1 + length));
    unfilter(rows.readUInt8(at), row, above, pixel);
    first ??= Buffer.from(row.subarray(0, pixel));
    for (let x = 0; x < length; x += 1) if (row[x] !== first[x % pixel]) return false;
    above = row;
  }
  return true;
}

function* imageData(png: Buffer): Generator<Buffer> {
  for (let at = 8; at + 12 <= png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') yield png.subarray(at + 8, at + 8 + length);
    at += 12 + length;
  }
}

/** Undoes the filter of a row in place (PNG, Filter Algorithms). */
function unfilter(filter: number, row: Buffer, above: Buffer, pixel: number): void {
  for (let x = 0; x < row.length; x += 1) {
    const left = x < pixel ? 0 : (row[x - pixel] ?? 0);
    const up = above[x] ?? 0;
    const corner = x < pixel ? 0 : (above[x - pixel] ?? 0);
    row[x] = ((row[x] ?? 0) + predicted(filter, left, up, corner)) & 255;
  }
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const guess = left + up - corner;
  const [byLeft, byUp, byCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}
