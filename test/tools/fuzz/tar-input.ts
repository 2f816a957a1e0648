import { gzipSync } from 'node:zlib';
import { damage } from './damage.ts';
import { outsideFile } from './odd-names.ts';
import type { Random } from './random.ts';
import { smallSite } from './small-site.ts';
import { octal, type Part, paxOf, seal, tarPart } from './tar-parts.ts';
import { fields, headerFields, otherKeys, otherValues, sizes, soundRecords, types } from './tar-values.ts';

const block = 512;
/** A tar, plain or compressed, that was valid before something was changed in it. */
export function tarInput(random: Random): Buffer {
  const parts = smallSite(random).flatMap(({ name, content }) => partsOf(random, Buffer.from(name), content));
  for (const name of ['b/', './', 'empty/', 'b']) {
    if (random.chance(0.1)) parts.unshift(...partsOf(random, Buffer.from(name), Buffer.alloc(0), '5'));
  }
  if (random.chance(0.1)) parts.unshift(metaPart('g', paxOf([random.pick(soundRecords)])));
  for (const { header } of parts) if (random.chance(0.3)) decorate(random, header);
  for (let left = random.pick([0, 0, 1, 1, 2]); left > 0; left -= 1) changeParts(random, parts);
  let bytes = Buffer.concat([
    ...parts.flatMap(({ header, content }) => [header, content, paddingOf(random, content)]),
    endOf(random),
  ]);
  if (random.chance(0.3)) bytes = damage(random, bytes, block);
  if (random.chance(0.6)) return bytes;
  const packed = gzipSync(bytes, { level: random.pick([0, 1, 6]), windowBits: 12, memLevel: 5 });
  return changeGzip(random, packed);
}

function partsOf(random: Random, name: Buffer, content: Buffer, type = random.chance(0.1) ? '\0' : '0'): Part[] {
  const long = name.length > 100;
  const style = random.pick(long ? ['pax', 'gnu', 'divided'] : ['plain', 'plain', 'pax', 'gnu', 'gnu name']);
  if (style === 'pax') {
    const records = soundRecords.filter(() => random.chance(0.07));
    const distinct = records.filter(([key], index) => records.findIndex(([other]) => other === key) === index);
    const header = random.chance(0.75)
      ? name
      : Buffer.from(random.pick(['x', 'PaxHeader/x', 'x/', '../x', outsideFile, 'a\\b', 'C:x', 'index.html']));
    const path = random.chance(0.9) ? [['path', name.toString()] as const] : [];
    return [
      metaPart('x', paxOf([...path, ...distinct])),
      tarPart({ name: header, type, content, gnu: false, divided: random.chance(0.5) }),
    ];
  }
  const plain = tarPart({ name, type, content, gnu: style.startsWith('gnu'), divided: style === 'divided' });
  if (style !== 'gnu') return [plain];
  return [
    tarPart({
      name: Buffer.from('././@LongLink'),
      type: 'L',
      content: Buffer.concat([name, Buffer.alloc(1)]),
      gnu: true,
    }),
    plain,
  ];
}

function metaPart(type: 'x' | 'g', content: Buffer): Part {
  return tarPart({ name: Buffer.from('PaxHeader'), type, content, gnu: false });
}

/** Sets one of the fields that say neither name nor size. */
function decorate(random: Random, header: Buffer): void {
  const [start, length, values] = random.pick(fields.slice(0, random.chance(0.9) ? 8 : fields.length));
  header.fill(0, start, start + length);
  header.write(random.pick<string>(values), start, length, 'latin1');
  seal(header);
}

function changeParts(random: Random, parts: Part[]): void {
  const at = random.below(parts.length);
  const chosen = parts[at];
  if (!chosen) return;
  switch (random.below(10)) {
    case 0:
      parts.splice(at, 1);
      return;
    case 1:
      parts.splice(random.below(parts.length + 1), 0, { ...chosen, header: Buffer.from(chosen.header) });
      return;
    case 2:
    case 3:
      parts.splice(at, 0, metaPart(random.pick(['x', 'x', 'g']), randomPax(random)));
      return;
    case 4:
      parts.splice(
        at,
        0,
        tarPart({
          name: Buffer.from('l'),
          type: random.pick(['L', 'K']),
          content: Buffer.from(random.pick(['n.html\0', 'n.html', 'a\0b\0', '\0'])),
          gnu: true,
        }),
      );
      return;
    case 5: {
      // An archive in a file: readers that are led to a wrong size find it.
      const hidden = tarPart({ name: Buffer.from('hidden.html'), type: '0', content: Buffer.alloc(0), gnu: false });
      chosen.content = Buffer.concat([hidden.header, chosen.content]);
      chosen.header.write(random.chance(0.7) ? octal(chosen.content.length) : random.pick(sizes), 124, 'latin1');
      seal(chosen.header);
      return;
    }
    case 6:
      chosen.header.write(random.pick(types), 156, 'latin1');
      seal(chosen.header);
      return;
    case 7:
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
  const records = Array.from({ length: 1 + random.below(3) }, () =>
    random.chance(0.3) ? random.pick(soundRecords) : ([random.pick(otherKeys), random.pick(otherValues)] as const),
  );
  const data = paxOf(records);
  if (random.chance(0.2) && data.length > 0) data[random.below(data.length)] = random.below(256);
  return data;
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
  switch (random.below(12)) {
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
    case 3:
      return withGzipTexts(random, packed);
    default:
      return packed;
  }
}

/** With the parts of a gzip header that most files lack. */
function withGzipTexts(random: Random, packed: Buffer): Buffer {
  const head = Buffer.from(packed.subarray(0, 10));
  const extra = random.chance(0.4) ? Buffer.from([4, 0, 65, 66, 0, 0]) : Buffer.alloc(0);
  const name = random.chance(0.6)
    ? Buffer.from(`${random.pick(['site.tar', '../x', 'b\xfc.tar', ''])}\0`, 'latin1')
    : Buffer.alloc(0);
  const comment = random.chance(0.3) ? Buffer.from('made by hand\0') : Buffer.alloc(0);
  head[3] = (extra.length && 4) | (name.length && 8) | (comment.length && 16) | (random.chance(0.1) ? 1 : 0);
  return Buffer.concat([head, extra, name, comment, packed.subarray(10)]);
}
