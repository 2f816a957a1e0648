import { crc32, deflateRawSync } from 'node:zlib';
import {
  extra,
  narrow,
  wide,
  type ZipFields,
  zipCentralHeader,
  zipEnd,
  zipLocalHeader,
} from '../archives/zip-bytes.ts';
import { damage } from './damage.ts';
import { outsideFile } from './odd-names.ts';
import { kindsOf, pairsOf, type Random, someOf } from './random.ts';
import { type SmallFile, smallSite } from './small-site.ts';
import { oddExtra, soundExtra } from './zip-extras.ts';

const descriptorFlag = 8;
const utf8 = 0x800;
const unixTypes = [0o120000, 0o040000, 0o010000, 0o060000, 0o020000, 0o140000, 0o150000];
const soundModes = [0o644, 0o755, 0o600, 0o664, 0o400];
const oddModes = [0, 0o044, 0o200, 0o4755, 0o2755, 0o1755];
/** Read-only, hidden, system, archive, normal, compressed, not indexed, encrypted, 7-Zip's mark. */
const soundBits = [0x01, 0x02, 0x04, 0x20, 0x80, 0x100, 0x800, 0x2000, 0x4000, 0x8000];
/** A disk label, a folder, a device, a sparse file, a link, a file that is elsewhere. */
const oddBits = [0x08, 0x10, 0x40, 0x200, 0x400, 0x1000];
const systems = [0, 3, 10, 11, 14, 19];
/** What the end of an archive may leave to its 64-bit record. */
const everything = ['disk', 'entries', 'bytes', 'start'];
const interesting = [0, 1, 2, 4, 20, 22, 30, 46, 0xff, 0xffff, 0xfffffffe, 0xffffffff];

interface Entry {
  local: ZipFields;
  central: ZipFields;
  data: Buffer;
  /** What the headers would say of the data if nothing were unusual. */
  truth: ZipFields;
  /** Follows the data; null where the local header says all. */
  descriptor: { hasSignature: boolean; hasOtherWidth: boolean } | null;
  /** Bytes after the data, and after the descriptor. */
  trailer: Buffer;
  /** Type and permissions of Unix. */
  mode: number;
  dosBits: number;
  system: number;
  internal: number;
  comment: Buffer;
  /** What the directory says in 64 bits. */
  in64: readonly Wide[];
  /** Added to the true offset. */
  shift: number;
  /** Bytes before the local header. */
  gap: Buffer;
}

type Wide = 'bytes' | 'packed' | 'offset' | 'disk';

interface Archive {
  entries: Entry[];
  /** Whether the end has a 64-bit record. */
  has64: boolean;
  comment: Buffer;
  lead: Buffer;
  isReversed: boolean;
}

/** What can be unusual about a zip. An input has several at once: readers that cope with each may not cope with both. */
const kinds: Readonly<Record<string, (random: Random, archive: Archive) => void>> = {
  descriptor: (random, { entries }) => {
    for (const entry of manyOf(random, entries)) addDescriptor(random, entry, { crc: 0, packed: 0, bytes: 0 });
  },
  'sizes beside the descriptor': (random, { entries }) => {
    for (const entry of manyOf(random, entries)) {
      const { crc, packed, bytes } = entry.truth;
      const some = { crc: random.pick([0, crc]), packed: random.pick([0, packed]), bytes: random.pick([0, bytes]) };
      addDescriptor(random, entry, random.pick([{ crc, packed, bytes }, { crc: 0, packed, bytes }, some]));
    }
  },
  'descriptor of the local header alone': (random, { entries }) => {
    for (const entry of manyOf(random, entries)) {
      addDescriptor(random, entry, { crc: 0, packed: 0, bytes: 0 });
      entry.central.flags &= ~descriptorFlag;
    }
  },
  'descriptor without signature': (random, { entries }) => {
    for (const { descriptor } of manyOf(random, late(random, entries))) if (descriptor) descriptor.hasSignature = false;
  },
  'width of the descriptor': (random, { entries }) => {
    for (const { descriptor } of someOf(random, late(random, entries))) if (descriptor) descriptor.hasOtherWidth = true;
  },
  'local header in 64 bits': (random, { entries }) => {
    for (const entry of manyOf(random, entries)) localIn64(random, entry.local, entry.truth);
  },
  'directory in 64 bits': (random, { entries }) => {
    const form = random.pick(wideForms);
    for (const entry of manyOf(random, entries)) entry.in64 = random.chance(0.8) ? form : random.pick(wideForms);
  },
  'end in 64 bits': (_, archive) => {
    archive.has64 = true;
  },
  'unix type': (random, { entries }) => {
    for (const entry of someOf(random, entries)) {
      const type = random.pick([...unixTypes, 0, 0, ...Array(4).fill(isFolder(entry) ? 0o040000 : 0o100000)]);
      entry.mode = (entry.mode & 0o7777) | type;
    }
  },
  mode: (random, { entries }) => {
    for (const entry of someOf(random, entries)) {
      const sound = isFolder(entry) ? [0o755, 0o775, 0o700] : soundModes;
      entry.mode = (entry.mode & 0o170000) | random.pick(random.chance(0.6) ? sound : oddModes);
    }
  },
  'no unix attributes': (random, { entries }) => {
    for (const entry of manyOf(random, entries)) entry.mode = 0;
  },
  'dos attributes': (random, { entries }) => {
    for (const entry of someOf(random, entries)) {
      for (const bit of soundBits) if (random.chance(0.2)) entry.dosBits |= bit;
    }
  },
  'dos type': (random, { entries }) => {
    for (const entry of someOf(random, entries)) entry.dosBits ^= random.pick([0x10, 0x10, ...oddBits]);
  },
  system: (random, { entries }) => {
    for (const entry of manyOf(random, entries)) entry.system = random.pick(systems);
  },
  'version needed': (random, { entries }) => {
    for (const side of sidesOf(random, entries)) side.needed = random.pick([0, 10, 20, 45]);
  },
  'compression flags': (random, { entries }) => {
    for (const { local, central } of someOf(random, entries)) {
      const flags = random.pick([2, 4, 6]);
      for (const side of [local, central]) side.flags |= flags;
    }
  },
  time: (random, { entries }) => {
    for (const side of sidesOf(random, entries)) {
      side.modified = random.pick([0x21_0000, 0x5765_6f7b, 0xffffffff, 0x0000_ffff]);
    }
  },
  'internal attributes': (random, { entries }) => {
    for (const entry of someOf(random, entries)) entry.internal = random.pick([1, 2, 0xffff]);
  },
  'comment of an entry': (random, { entries }) => {
    for (const entry of someOf(random, entries)) {
      const short = random.pick([Buffer.from('a comment'), random.bytes(random.below(30)), Buffer.from('\u00fc')]);
      const long = Buffer.alloc(random.pick([4096, 8192, 8193, 65_535]), 'c');
      entry.comment = random.chance(0.6) ? short : long;
    }
  },
  'comment of the archive': (random, archive) => {
    archive.comment = random.pick([
      Buffer.from('hello'),
      Buffer.from(`PK\x05\x06${'\0'.repeat(18)}`),
      Buffer.alloc(random.pick([8192, 8193, 16_384, 65_535]), 'c'),
    ]);
  },
  'extra field': (random, { entries }) => {
    for (const { local, central } of manyOf(random, entries)) {
      const [forLocal, forCentral] = soundExtra(random, local.name);
      local.extra = Buffer.concat([local.extra, forLocal]);
      central.extra = Buffer.concat([central.extra, forCentral]);
    }
  },
  'odd extra field': (random, { entries }) => {
    for (const side of sidesOf(random, entries)) side.extra = Buffer.concat([side.extra, oddExtra(random, side.name)]);
  },
  'long extra field': (random, { entries }) => {
    const field = extra(0xcafe, Buffer.alloc(random.pick([508, 4096, 16_384, 65_000])));
    for (const side of sidesOf(random, entries)) side.extra = Buffer.concat([side.extra, field]);
  },
  folder: (random, { entries }) => {
    for (const name of manyOf(random, ['b/', './', 'empty/', 'c/d/'])) {
      entries.splice(random.below(entries.length + 1), 0, entryOf(random, { name, content: Buffer.alloc(0) }));
    }
  },
  'order of the directory': (_, archive) => {
    archive.isReversed = true;
  },
  'bytes in front': (random, archive) => {
    archive.lead = random.bytes(1 + random.below(30));
  },
};

/** The kinds of oddities that the input made from the same random choices has, in the order in which they are made. */
export const zipKindsOf = (random: Random): string[] => kindsOf(random, Object.keys(kinds));

/** All pairs of kinds, each as `one + other`. */
export const zipKindPairs = (names = Object.keys(kinds)): string[] => pairsOf(names);

/** A zip that was valid before something was changed in it. */
export function zipInput(random: Random): Buffer {
  const chosen = zipKindsOf(random);
  const entries = smallSite(random).map((file) => entryOf(random, file));
  const none = Buffer.alloc(0);
  const archive: Archive = { entries, has64: false, comment: none, lead: none, isReversed: false };
  for (const name of chosen) kinds[name]?.(random, archive);
  // What is odd in two ways is left alone: it would hardly ever be accepted otherwise.
  const isLeftAlone = chosen.length > 1 && random.chance(0.9);
  for (let left = isLeftAlone ? 0 : random.pick([0, 0, 1, 1, 2]); left > 0; left -= 1) changeEntries(random, entries);
  const bytes = assemble(random, archive, isLeftAlone ? 0 : 0.01);
  return !isLeftAlone && random.chance(0.25) ? damage(random, bytes, random.pick([1, 4, 16])) : bytes;
}

function entryOf(random: Random, { name, content }: SmallFile): Entry {
  const stored = random.chance(0.3);
  const data = stored
    ? content
    : deflateRawSync(content, { level: random.pick([1, 6, 9]), windowBits: 12, memLevel: 5 });
  const isAscii = [...name].every((character) => character <= '~');
  const truth: ZipFields = {
    flags: isAscii && random.chance(0.5) ? 0 : utf8,
    method: stored ? 0 : 8,
    crc: crc32(content),
    packed: data.length,
    bytes: content.length,
    name: Buffer.from(name),
    extra: Buffer.alloc(0),
  };
  const system = random.pick([0, 3, 3]);
  const isFolder = name.endsWith('/');
  const mode = isFolder ? 0o040755 : random.pick([0o100644, 0o100644, 0o100755, 0o644]);
  return {
    local: { ...truth },
    central: { ...truth },
    data,
    truth,
    descriptor: null,
    trailer: Buffer.alloc(0),
    mode: system === 0 ? 0 : mode,
    dosBits: isFolder ? 0x10 : 0,
    system,
    internal: 0,
    comment: Buffer.alloc(0),
    in64: [],
    shift: 0,
    gap: Buffer.alloc(0),
  };
}

const isFolder = ({ truth }: Entry): boolean => truth.name.toString().endsWith('/');

/** Most often all of them, as a writer with a habit makes them; at least one. */
function manyOf<T>(random: Random, all: readonly T[]): readonly T[] {
  return random.chance(0.6) ? all : someOf(random, all);
}

/** The headers of some entries: of both places, or of one. */
function sidesOf(random: Random, entries: readonly Entry[]): ZipFields[] {
  const isBoth = random.chance(0.7);
  return someOf(random, entries).flatMap(({ local, central }) =>
    isBoth ? [local, central] : [random.pick([local, central])],
  );
}

/** The entries with a descriptor; one gets its own where none has. */
function late(random: Random, entries: readonly Entry[]): Entry[] {
  if (entries.every(({ descriptor }) => descriptor === null)) {
    addDescriptor(random, random.pick(entries), { crc: 0, packed: 0, bytes: 0 });
  }
  return entries.filter(({ descriptor }) => descriptor !== null);
}

/** What the local header says then is `said`. */
function addDescriptor(random: Random, entry: Entry, said: Pick<ZipFields, 'crc' | 'packed' | 'bytes'>): void {
  Object.assign(entry.local, said);
  for (const side of [entry.local, entry.central]) side.flags |= descriptorFlag;
  entry.descriptor ??= { hasSignature: random.chance(0.9), hasOtherWidth: false };
}

const wideForms: readonly (readonly Wide[])[] = [
  ['bytes', 'packed'],
  ['bytes', 'packed'],
  ['bytes', 'packed', 'offset'],
  ['bytes', 'packed', 'offset'],
  ['bytes'],
  ['packed'],
  ['offset'],
  ['bytes', 'packed', 'offset', 'disk'],
];

/** Both sizes in 64 bits, true or left to the descriptor, or beside those of the header; sometimes only a part of them. */
function localIn64(random: Random, local: ZipFields, { bytes, packed }: ZipFields): void {
  const isUnknown = local.bytes === 0 && local.packed === 0;
  const values = random.chance(0.05) ? [bytes] : isUnknown ? [0, 0] : [bytes, packed];
  local.extra = Buffer.concat([local.extra, extra(1, wide(...values))]);
  if (random.chance(0.2)) return;
  if (random.chance(0.95)) local.bytes = 0xffffffff;
  if (random.chance(0.95)) local.packed = 0xffffffff;
}

function changeEntries(random: Random, entries: Entry[]): void {
  const at = random.below(entries.length);
  const entry = entries[at];
  if (!entry) return;
  const side = random.pick([entry.local, entry.central]);
  switch (random.below(16)) {
    case 0:
      entries.splice(at, 1);
      return;
    case 1:
      entries.splice(random.below(entries.length + 1), 0, { ...entry });
      return;
    case 2:
      side.crc = random.pick([0, side.crc ^ 1, 0x08074b50]);
      return;
    case 3:
      side.packed = random.pick([...interesting, side.packed + 1, side.packed - 1]) >>> 0;
      return;
    case 4:
      side.bytes = random.pick([...interesting, side.bytes + 1, side.bytes - 1]) >>> 0;
      return;
    case 5:
      side.flags ^= 1 << random.below(16);
      return;
    case 6:
      side.method = random.pick([0, 8, 9, 12, 93, 99]);
      return;
    case 7:
      side.name = Buffer.from(
        random.pick([
          'index.html',
          'INDEX.html',
          '../x',
          'a/../b',
          'b\\c',
          'n\0',
          '',
          outsideFile,
          'index.html/',
          'b/c.htmk',
        ]),
      );
      return;
    case 8:
      side.extra = Buffer.concat([side.extra, oddExtra(random, side.name)]);
      return;
    case 9:
      entry.shift = random.pick([-1, 1, 4, -30, 30]);
      return;
    case 10:
      entry.gap = random.bytes(random.below(20));
      return;
    case 11:
      entry.data = random.chance(0.5) ? Buffer.concat([entry.data, random.bytes(3)]) : entry.data.subarray(0, -1);
      if (random.chance(0.7)) {
        entry.local.packed = entry.data.length;
        entry.central.packed = entry.data.length;
      }
      return;
    case 12:
      entry.mode = random.pick(unixTypes) | random.pick(oddModes);
      entry.dosBits = random.pick(oddBits);
      return;
    case 13:
      entry.system = random.below(24);
      return;
    case 14:
      side.needed = random.pick([46, 51, 63, 0x0314, 0xffff]);
      return;
    default:
      entry.trailer = random.chance(0.5) ? random.bytes(random.pick([12, 16, 20, 24])) : Buffer.alloc(4);
      if (random.chance(0.5)) entry.comment = random.bytes(random.below(30));
  }
}

/** @param wrong the probability that a number of the end is wrong */
function assemble(random: Random, archive: Archive, wrong: number): Buffer {
  const pieces: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  const push = (piece: Buffer) => {
    pieces.push(piece);
    offset += piece.length;
  };
  push(archive.lead);
  for (const entry of archive.entries) {
    push(entry.gap);
    const { mode, dosBits, system, internal, comment } = entry;
    const place = Math.max(0, offset + entry.shift);
    const disk = entry.in64.includes('disk') && random.chance(0.5) ? 0xffff : 0;
    const told = {
      offset: entry.in64.includes('offset') ? 0xffffffff : place,
      attributes: mode * 2 ** 16 + dosBits,
      system,
      internal,
      comment,
      disk,
    };
    central.push(zipCentralHeader(widened(entry.central, entry.in64, place), told));
    push(zipLocalHeader(entry.local));
    push(entry.data);
    push(descriptorOf(entry));
    push(entry.trailer);
  }
  if (archive.isReversed) central.reverse();
  if (central.length > 1 && random.chance(wrong)) central.pop();
  const start = offset;
  for (const header of central) push(header);
  const told = { entries: central.length, start, bytes: offset - start };
  for (const piece of endRecords(random, told, archive, wrong)) push(piece);
  return Buffer.concat(pieces);
}

function endRecords(
  random: Random,
  told: { entries: number; start: number; bytes: number },
  { comment, has64 }: Archive,
  wrong: number,
): Buffer[] {
  const change = (value: number, most: number) =>
    random.chance(wrong) ? Math.min(most, Math.max(0, random.pick([...interesting, value + 1, value - 1]))) : value;
  const hides = has64 ? random.pick([[], ['start'], ['entries'], ['entries', 'bytes', 'start'], everything]) : [];
  const said = (what: string, value: number, most: number) => (hides.includes(what) ? most : change(value, most));
  const entries = said('entries', told.entries, 0xffff);
  const end = zipEnd({
    disk: said('disk', 0, 0xffff),
    entriesHere: change(entries, 0xffff),
    entries,
    bytes: said('bytes', told.bytes, 0xffffffff),
    start: said('start', told.start, 0xffffffff),
    comment,
    commentLength: change(comment.length, 0xffff),
  });
  if (!has64) return [end];
  const record = Buffer.alloc(56);
  record.write('PK\x06\x06', 'latin1');
  record.writeBigUInt64LE(BigInt(change(44, 0xffff)), 4);
  record.writeUInt16LE(random.pick([0, 20, 45, 0x031e, 0x0333]), 12);
  record.writeUInt16LE(random.pick([0, 20, 45, 45, 62, 63]), 14);
  for (const at of [24, 32]) record.writeBigUInt64LE(BigInt(change(told.entries, 0xffffffff)), at);
  record.writeBigUInt64LE(BigInt(change(told.bytes, 0xffffffff)), 40);
  record.writeBigUInt64LE(BigInt(change(told.start, 0xffffffff)), 48);
  const locator = Buffer.alloc(20);
  locator.write('PK\x06\x07', 'latin1');
  locator.writeBigUInt64LE(BigInt(change(told.start + told.bytes, 0xffffffff)), 8);
  locator.writeUInt32LE(change(1, 0xffff), 16);
  return [record, locator, end];
}

/** The fields of the directory with some of them in 64 bits, in the order of the format. */
function widened(fields: ZipFields, in64: readonly Wide[], offset: number): ZipFields {
  if (in64.length === 0) return fields;
  const { bytes, packed } = fields;
  const values = { bytes: wide(bytes), packed: wide(packed), offset: wide(offset), disk: narrow(0) };
  const said = extra(1, Buffer.concat(in64.map((what) => values[what])));
  return {
    ...fields,
    bytes: in64.includes('bytes') ? 0xffffffff : bytes,
    packed: in64.includes('packed') ? 0xffffffff : packed,
    extra: Buffer.concat([said, fields.extra]),
  };
}

/** As wide as the sizes of the entry are elsewhere. */
function descriptorOf({ descriptor, truth, local, in64 }: Entry): Buffer {
  if (descriptor === null) return Buffer.alloc(0);
  const { crc, packed, bytes } = truth;
  const has64 = in64.length > 0 || local.extra.indexOf(Buffer.from([1, 0])) === 0;
  const isWide = has64 !== descriptor.hasOtherWidth;
  const body = isWide ? Buffer.concat([narrow(crc), wide(packed, bytes)]) : narrow(crc, packed, bytes);
  return descriptor.hasSignature ? Buffer.concat([Buffer.from('PK\x07\x08', 'latin1'), body]) : body;
}
