import { crc32, gzipSync } from 'node:zlib';
import { damage } from './damage.ts';
import { outsideFile } from './odd-names.ts';
import { kindsOf, pairsOf, type Random, someOf } from './random.ts';
import { smallSite } from './small-site.ts';
import { octal, type Part, paxOf, seal, tarPart } from './tar-parts.ts';
import { forms, headerFields, otherKeys, otherValues, sizes, soundRecords, types } from './tar-values.ts';

const block = 512;
const none = Buffer.alloc(0);
const fileTypes = ['0', '\0'];
const metaTypes = ['x', 'g', 'L', 'K'];

interface Archive {
  parts: Part[];
  /** What a gzip header holds besides the usual; nothing is ever compressed for its sake alone. */
  gzip: { extra?: Buffer; name?: Buffer; comment?: Buffer; hasCrc?: boolean; isText?: boolean; numbers?: Buffer };
}

/** What can be unusual about a tar. An input has several at once: readers that cope with each may not cope with both. */
const kinds: Readonly<Record<string, (random: Random, archive: Archive) => void>> = {
  mode: (random, { parts }) => {
    for (const part of someOf(random, parts.filter(isEntry))) {
      const sound = typeOf(part) === '5' ? forms.folderMode : forms.fileMode;
      setField(part, [100, 8], random.pick(random.chance(0.7) ? sound : forms.oddMode));
    }
  },
  owner: field(forms.id, [108, 8], [116, 8]),
  time: field(forms.time, [136, 12]),
  device: field(forms.device, [329, 8], [337, 8]),
  'owner name': field(forms.name, [265, 32], [297, 32]),
  'link target': field(forms.link, [157, 100]),
  prefix: field(forms.prefix, [345, 155]),
  'times in the prefix': field(forms.prefixTimes, [476, 24]),
  'size form': (random, { parts }) => {
    for (const part of someOf(random, parts)) {
      const bytes = part.content.length.toString(8);
      const form = [
        `${bytes}\0`,
        bytes.padEnd(12),
        bytes.padStart(12),
        bytes.padStart(12, '0'),
        `${bytes.padStart(11)}\0`,
      ];
      setField(part, [124, 12], random.pick([...form, `${bytes} \0 `, random.pick(sizes)]));
    }
  },
  type: (random, { parts }) => {
    for (const part of someOf(random, parts.filter(isEntry))) {
      setField(
        part,
        [156, 1],
        random.chance(0.8) && typeOf(part) !== '5' ? random.pick(fileTypes) : random.pick(types),
      );
    }
  },
  magic: (random, { parts }) => {
    for (const part of someOf(random, parts)) setField(part, [257, 8], random.pick(forms.magic));
  },
  slash: (random, { parts }) => {
    for (const part of someOf(random, parts.filter(isEntry))) {
      const name = nameOf(part);
      setField(part, [0, 100], name.endsWith('/') ? name.slice(0, -1) : random.chance(0.2) ? `${name}/` : name);
    }
  },
  'dot and slash': (random, { parts }) => {
    for (const part of someOf(
      random,
      parts.filter((each) => !'gK'.includes(typeOf(each))),
    )) {
      const lead = random.pick(['./', './', './', '././', './/', '']);
      if (typeOf(part) === 'L') part.content = Buffer.concat([Buffer.from(lead), part.content]);
      else if (typeOf(part) === 'x') part.content = paxOf([['path', `${lead}a.html`]]);
      else if (random.chance(0.2)) setField(part, [0, 100], random.pick(['.', './', '']));
      else setField(part, [0, 100], `${lead}${nameOf(part)}`);
      setField(part, [124, 12], octal(part.content.length));
    }
  },
  root: (random, { parts }) => {
    for (let left = random.pick([1, 1, 2]); left > 0; left -= 1) {
      const root = tarPart({ name: Buffer.from(random.pick(['./', '.', './'])), type: '5', content: none, gnu: false });
      parts.splice(startOf(random, parts), 0, root);
    }
  },
  'global headers': (random, { parts }) => {
    const inRow = random.chance(0.4);
    for (let left = random.pick([1, 2, 3, inRow ? 40 : 5, inRow ? 1000 : 5]); left > 0; left -= 1) {
      const at = inRow ? 0 : startOf(random, parts);
      parts.splice(at, 0, metaPart('g', paxOf([random.pick(soundRecords)])));
    }
  },
  'pax records': (random, archive) => {
    const records = soundRecords.filter(() => random.chance(0.2));
    const distinct = records.filter(([key], index) => records.findIndex(([other]) => other === key) === index);
    before(random, archive, metaPart('x', paxOf(distinct.length > 0 ? distinct : [['mtime', '0']])));
  },
  'long record': (random, archive) => {
    const bytes = random.pick([300, 5000, 33_000, 66_000]);
    const record = [random.pick(['comment', 'uname', 'gname', 'SCHILY.ino']), '1'.repeat(bytes)] as const;
    before(random, archive, metaPart(random.pick(['x', 'x', 'g']), paxOf([record])));
  },
  'pax size': (random, archive) => {
    const part = random.pick(bareEntries(archive));
    const size = random.chance(0.8) ? `${part.content.length}` : random.pick(['0', '512', '00', '-1', '1e1', '']);
    insertBefore(archive, part, [metaPart('x', paxOf([['size', size]]))]);
  },
  'two about one': (random, archive) => {
    const part = random.pick(bareEntries(archive));
    const name = nameOf(part);
    const about = [metaPart('x', paxOf([['mtime', '1']])), longName(name)];
    insertBefore(archive, part, random.chance(0.5) ? about : about.reverse());
  },
  'short name below a long one': (random, archive) => {
    const part = random.pick(bareEntries(archive));
    const long = random.chance(0.5) ? longName(nameOf(part)) : metaPart('x', paxOf([['path', nameOf(part)]]));
    insertBefore(archive, part, [long]);
    setField(part, [0, 100], random.pick(['', '.', './', nameOf(part).slice(0, 2), 'x/', '/x', nameOf(part)]));
  },
  'header about another': (random, archive) => {
    if (!archive.parts.some((part) => !isEntry(part))) before(random, archive, metaPart('x', paxOf([['mtime', '1']])));
    for (const part of someOf(
      random,
      archive.parts.filter((each) => !isEntry(each)),
    )) {
      const [start, length, values] = random.pick([
        [0, 100, ['', 'x/', '../x', outsideFile, './', 'PaxHeaders.0/x', 'index.html', 'n'.repeat(100)]],
        [100, 8, [...forms.fileMode, ...forms.oddMode]],
        [108, 8, forms.id],
        [136, 12, forms.time],
        [157, 100, ['x']],
        [257, 8, forms.magic],
        [265, 32, forms.name],
        [329, 8, forms.device],
      ] as const);
      setField(part, [start, length], random.pick<string>(values));
    }
  },
  'gzip name': (random, { gzip }) => {
    gzip.name = gzipText(random);
  },
  'gzip comment': (random, { gzip }) => {
    gzip.comment = gzipText(random);
  },
  'gzip extra': (random, { gzip }) => {
    const content = Buffer.alloc(random.pick([0, 1, 2, 100, 507, 508, 16_384, 65_531]));
    gzip.extra = Buffer.concat([Buffer.from(random.pick(['AB', 'BC'])), shortOf(content.length), content]);
  },
  'gzip checksum': (_, { gzip }) => {
    gzip.hasCrc = true;
  },
  'gzip numbers': (random, { gzip }) => {
    gzip.isText = random.chance(0.5);
    gzip.numbers = random.bytes(6);
  },
  // Comes last: other kinds write the checksum as most writers do.
  'checksum form': (random, { parts }) => {
    for (const { header } of someOf(random, parts)) {
      const sum = Number.parseInt(header.toString('latin1', 148, 154), 8).toString(8);
      const form = [`${sum}\0`, `${sum.padStart(7, '0')}\0`, `${sum.padStart(7)} `, `${sum.padStart(6)}\0 `];
      header.fill(0, 148, 156);
      header.write(random.pick([...form, ...form, sum.padStart(8, '0'), sum.padStart(8)]), 148, 'latin1');
    }
  },
};

/** The kinds of oddities that the input made from the same random choices has, in the order in which they are made. */
export const tarKindsOf = (random: Random): string[] => kindsOf(random, Object.keys(kinds));

/** All pairs of kinds, each as `one + other`. */
export const tarKindPairs = (names = Object.keys(kinds)): string[] => pairsOf(names);

/** A tar, plain or compressed, that was valid before something was changed in it. */
export function tarInput(random: Random): Buffer {
  const chosen = tarKindsOf(random);
  const parts = smallSite(random).flatMap(({ name, content }) => partsOf(random, Buffer.from(name), content));
  for (const name of ['b/', './', 'empty/', 'b']) {
    if (random.chance(0.1)) parts.unshift(...partsOf(random, Buffer.from(name), none, '5'));
  }
  if (random.chance(0.1)) parts.unshift(metaPart('g', paxOf([random.pick(soundRecords)])));
  const archive: Archive = { parts, gzip: {} };
  for (const name of chosen) kinds[name]?.(random, archive);
  // What is odd in two ways is left alone: it would hardly ever be accepted otherwise.
  const isLeftAlone = chosen.length > 1 && random.chance(0.9);
  for (let left = isLeftAlone ? 0 : random.pick([0, 0, 1, 1, 2]); left > 0; left -= 1) changeParts(random, parts);
  let bytes = Buffer.concat([
    ...parts.flatMap(({ header, content }) => [header, content, paddingOf(random, content)]),
    isLeftAlone ? Buffer.alloc(2 * block) : endOf(random),
  ]);
  if (!isLeftAlone && random.chance(0.3)) bytes = damage(random, bytes, block);
  if (Object.keys(archive.gzip).length === 0 && random.chance(0.6)) return bytes;
  const packed = withHeader(gzipSync(bytes, { level: random.pick([0, 1, 6]), windowBits: 12, memLevel: 5 }), archive);
  return isLeftAlone ? packed : changeGzip(random, packed);
}

/** A kind that sets one of these fields, in some of the entries. */
function field(values: readonly string[], ...places: readonly (readonly [number, number])[]): (typeof kinds)[string] {
  return (random, { parts }) => {
    for (const part of someOf(random, parts.filter(isEntry))) setField(part, random.pick(places), random.pick(values));
  };
}

function setField({ header }: Part, [start, length]: readonly [number, number], value: string): void {
  header.fill(0, start, start + length);
  header.write(value, start, length, 'latin1');
  seal(header);
}

function typeOf({ header }: Part): string {
  return header.toString('latin1', 156, 157);
}

function isEntry(part: Part): boolean {
  return !metaTypes.includes(typeOf(part));
}

/** What stands in the field for the name. */
function nameOf({ header }: Part): string {
  const name = header.toString('latin1', 0, 100);
  return name.includes('\0') ? name.slice(0, name.indexOf('\0')) : name;
}

/** Entries that no header precedes, or else all parts. */
function bareEntries({ parts }: Archive): readonly Part[] {
  const bare = parts.filter((part, at) => isEntry(part) && parts.slice(Math.max(0, at - 1), at).every(isEntry));
  return bare.length > 0 ? bare : parts;
}

/** A place where an entry and the headers about it begin. */
function startOf(random: Random, parts: readonly Part[]): number {
  return random.pick(parts.flatMap((_, at) => (parts.slice(Math.max(0, at - 1), at).every(isEntry) ? [at] : [])));
}

function before(random: Random, archive: Archive, part: Part): void {
  insertBefore(archive, random.pick(bareEntries(archive)), [part]);
}

function insertBefore({ parts }: Archive, part: Part, inserted: readonly Part[]): void {
  parts.splice(parts.indexOf(part), 0, ...inserted);
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
  return style === 'gnu' ? [longName(name), plain] : [plain];
}

function longName(name: string | Buffer): Part {
  const content = Buffer.concat([Buffer.from(name), Buffer.alloc(1)]);
  return tarPart({ name: Buffer.from('././@LongLink'), type: 'L', content, gnu: true });
}

function metaPart(type: 'x' | 'g', content: Buffer): Part {
  return tarPart({ name: Buffer.from('PaxHeader'), type, content, gnu: false });
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
  switch (random.below(11)) {
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

/** With the parts of a gzip header that most files lack. */
function withHeader(packed: Buffer, { gzip }: Archive): Buffer {
  const { extra, name, comment, hasCrc = false, isText = false, numbers } = gzip;
  const head = Buffer.from(packed.subarray(0, 10));
  numbers?.copy(head, 4);
  head[3] =
    Number(isText) |
    (hasCrc ? 2 : 0) |
    (extra === undefined ? 0 : 4) |
    (name === undefined ? 0 : 8) |
    (comment === undefined ? 0 : 16);
  const texts = [name, comment].flatMap((text) => (text === undefined ? [] : [text, Buffer.alloc(1)]));
  const whole = Buffer.concat([head, ...(extra === undefined ? [] : [shortOf(extra.length), extra]), ...texts]);
  const crc = hasCrc ? shortOf(crc32(whole) & 0xffff) : none;
  return Buffer.concat([whole, crc, packed.subarray(10)]);
}

function gzipText(random: Random): Buffer {
  const texts = ['site.tar', '../x', 'b\xfc.tar', 'a\nb', '', outsideFile, 'site.tar.gz'];
  return Buffer.from(
    random.chance(0.6) ? random.pick(texts) : 'n'.repeat(random.pick([255, 511, 512, 5000, 65_530])),
    'latin1',
  );
}

function shortOf(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}
