import { gzipSync } from 'node:zlib';
import { damage } from './damage.ts';
import type { Random } from './random.ts';
import { smallSite } from './small-site.ts';

const block = 512;
const headerFields: readonly (readonly [number, number])[] = [
  [0, 100],
  [100, 8],
  [108, 8],
  [124, 12],
  [136, 12],
  [148, 8],
  [156, 1],
  [157, 100],
  [257, 6],
  [263, 2],
  [329, 8],
  [345, 155],
  [500, 12],
];
const sizes = [
  '00000000000\0',
  '00000000001\0',
  '00000001000\0',
  '      12\0\0\0\0',
  '77777777777\0',
  '0000000001x\0',
  '-0000000001\0',
  '\0',
];
const types = ['0', '\0', '1', '2', '5', '7', 'g', 'x', 'K', 'L', 'S', 'D', 'V', '6', 'A'];
const paxKeys = [
  'path',
  'size',
  'linkpath',
  'hdrcharset',
  'comment',
  'mtime',
  'GNU.sparse.major',
  'GNU.sparse.name',
  'SCHILY.xattr.x',
  '',
];
const paxValues = ['x.html', '../x', '0', '1', '512', '1024', '-1', '1e3', 'BINARY', 'a\0b', 'index.html', 'ü', ''];

interface Part {
  header: Buffer;
  content: Buffer;
}

/** A tar, plain or compressed, that was valid before something was changed in it. */
export function tarInput(random: Random): Buffer {
  const parts = smallSite(random).flatMap(({ name, content }) => partsOf(random, name, content));
  if (random.chance(0.3))
    parts.unshift(part({ name: 'b/', type: '5', content: Buffer.alloc(0), gnu: random.chance(0.5) }));
  for (let left = random.below(3); left > 0; left -= 1) changeParts(random, parts);
  let bytes = Buffer.concat([
    ...parts.flatMap(({ header, content }) => [header, content, paddingOf(random, content)]),
    endOf(random),
  ]);
  if (random.chance(0.35)) bytes = damage(random, bytes, block);
  if (random.chance(0.5)) return bytes;
  const packed = gzipSync(bytes, { level: random.pick([0, 1, 6]) });
  return changeGzip(random, packed);
}

function partsOf(random: Random, name: string, content: Buffer): Part[] {
  const style =
    Buffer.byteLength(name) > 100 ? random.pick(['pax', 'gnu']) : random.pick(['plain', 'plain', 'pax', 'gnu']);
  const plain = part({ name, type: random.chance(0.1) ? '\0' : '0', content, gnu: style === 'gnu' });
  if (style === 'pax')
    return [part({ name: 'PaxHeader', type: 'x', content: paxOf([['path', name]]), gnu: false }), plain];
  if (style === 'gnu') {
    return [part({ name: '././@LongLink', type: 'L', content: Buffer.from(`${name}\0`), gnu: true }), plain];
  }
  return [plain];
}

function changeParts(random: Random, parts: Part[]): void {
  const at = random.below(parts.length);
  const chosen = parts[at];
  if (!chosen) return;
  switch (random.below(9)) {
    case 0:
      parts.splice(at, 1);
      return;
    case 1:
      parts.splice(random.below(parts.length + 1), 0, { ...chosen, header: Buffer.from(chosen.header) });
      return;
    case 2:
      parts.splice(
        at,
        0,
        part({ name: 'x', type: random.pick(['x', 'x', 'g']), content: randomPax(random), gnu: false }),
      );
      return;
    case 3:
      parts.splice(
        at,
        0,
        part({
          name: 'l',
          type: random.pick(['L', 'K']),
          content: Buffer.from(random.pick(['n.html\0', 'n.html', 'a\0b\0', '\0'])),
          gnu: true,
        }),
      );
      return;
    case 4:
      // An archive in a file: readers that are led to a wrong size come upon it.
      chosen.content = Buffer.concat([
        part({ name: 'hidden.html', type: '0', content: Buffer.alloc(0), gnu: false }).header,
        chosen.content,
      ]);
      if (random.chance(0.7)) setField(chosen.header, 124, octal(chosen.content.length));
      else chosen.header.write(random.pick(sizes), 124, 'latin1');
      seal(chosen.header);
      return;
    case 5:
      chosen.header.write(random.pick(types), 156, 'latin1');
      seal(chosen.header);
      return;
    case 6:
      chosen.header.write(random.pick(sizes), 124, 'latin1');
      seal(chosen.header);
      return;
    default: {
      const [start, length] = random.pick(headerFields);
      const to = start + random.below(length);
      if (random.chance(0.5)) chosen.header[to] = random.below(256);
      else random.bytes(random.below(length)).copy(chosen.header, start);
      if (random.chance(0.85)) seal(chosen.header);
    }
  }
}

function randomPax(random: Random): Buffer {
  const records = Array.from(
    { length: 1 + random.below(3) },
    () => [random.pick(paxKeys), random.pick(paxValues)] as const,
  );
  const data = paxOf(records);
  if (random.chance(0.2) && data.length > 0) data[random.below(data.length)] = random.below(256);
  return data;
}

function paxOf(records: readonly (readonly [string, string])[]): Buffer {
  const lines = records.map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest) + 1;
    while (Buffer.byteLength(`${length}${rest}`) !== length) length += 1;
    return `${length}${rest}`;
  });
  return Buffer.from(lines.join(''));
}

function part({ name, type, content, gnu }: { name: string; type: string; content: Buffer; gnu: boolean }): Part {
  const header = Buffer.alloc(block);
  Buffer.from(name).copy(header, 0, 0, 100);
  header.write('0000644\0', 100);
  header.write('0000000\x000000000\0', 108);
  setField(header, 124, octal(content.length));
  header.write('00000000000\0', 136);
  header.write(type, 156, 'latin1');
  header.write(gnu ? 'ustar  \0' : 'ustar\x0000', 257, 'latin1');
  seal(header);
  return { header, content };
}

function setField(header: Buffer, at: number, text: string): void {
  header.write(text, at, 'latin1');
}

function octal(value: number): string {
  return `${value.toString(8).padStart(11, '0')}\0`;
}

function seal(header: Buffer): void {
  header.write('        ', 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
}

function paddingOf(random: Random, content: Buffer): Buffer {
  const padding = Buffer.alloc((block - (content.length % block)) % block);
  if (padding.length > 0 && random.chance(0.01)) padding[0] = 1;
  return padding;
}

function endOf(random: Random): Buffer {
  return random.chance(0.9) ? Buffer.alloc(2 * block) : Buffer.alloc(random.pick([0, 512, 1000, 1536, 10_240]));
}

function changeGzip(random: Random, packed: Buffer): Buffer {
  switch (random.below(8)) {
    case 0:
      return damage(random, packed, 1);
    case 1:
      return Buffer.concat([packed, random.pick([gzipSync(''), gzipSync('x'), Buffer.alloc(8), packed])]);
    case 2: {
      const changed = Buffer.from(packed);
      const at = random.pick([2, 3, 4, 9, changed.length - 1, changed.length - 5, changed.length - 8]);
      changed[at] = random.below(256);
      return changed;
    }
    default:
      return packed;
  }
}
