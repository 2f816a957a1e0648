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
import type { Random } from './random.ts';
import { type SmallFile, smallSite } from './small-site.ts';
import { oddExtra, soundExtra } from './zip-extras.ts';

const descriptorSignature = 8;
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
  descriptor: Buffer;
  attributes: number;
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

/** A zip that was valid before something was changed in it. */
export function zipInput(random: Random): Buffer {
  // Writers that use 64-bit forms use them in each entry, and streaming writers descriptors.
  const habit = { in64: random.chance(0.4), late: random.chance(0.4) };
  const entries = smallSite(random).map((file) => entryOf(random, file, habit));
  for (const name of ['b/', './', 'empty/']) {
    if (random.chance(0.12)) entries.push(entryOf(random, { name, content: Buffer.alloc(0) }, habit));
  }
  for (const entry of entries) {
    for (let left = random.pick([0, 0, 0, 1, 2, 3]); left > 0; left -= 1) decorate(random, entry);
  }
  for (let left = random.pick([0, 0, 1, 1, 2]); left > 0; left -= 1) changeEntries(random, entries);
  const bytes = assemble(random, entries, habit.in64);
  return random.chance(0.25) ? damage(random, bytes, random.pick([1, 4, 16])) : bytes;
}

interface Habit {
  in64: boolean;
  late: boolean;
}

function entryOf(random: Random, { name, content }: SmallFile, habit: Habit): Entry {
  const stored = random.chance(0.3);
  const data = stored
    ? content
    : deflateRawSync(content, { level: random.pick([1, 6, 9]), windowBits: 12, memLevel: 5 });
  const late = random.chance(habit.late ? 0.8 : 0.05);
  const isAscii = [...name].every((character) => character <= '~');
  const [forLocal, forCentral] = random.chance(0.35)
    ? soundExtra(random, Buffer.from(name))
    : [Buffer.alloc(0), Buffer.alloc(0)];
  const truth: ZipFields = {
    flags: (isAscii && random.chance(0.5) ? 0 : utf8) | (late ? descriptorSignature : 0),
    method: stored ? 0 : 8,
    crc: crc32(content),
    packed: data.length,
    bytes: content.length,
    name: Buffer.from(name),
    extra: Buffer.alloc(0),
  };
  const local = { ...truth, extra: forLocal };
  const central = { ...truth, extra: forCentral };
  if (late && random.chance(0.1)) central.flags &= ~descriptorSignature;
  if (late) Object.assign(local, unknownSizes(random, truth));
  const inLocal = habit.in64 && random.chance(0.6);
  if (inLocal) localIn64(random, local, truth);
  const in64 = habit.in64 ? random.pick(wideForms) : [];
  const system = random.pick([0, 3, 3]);
  return {
    local,
    central,
    data,
    descriptor: late
      ? descriptorOf(random, truth, (inLocal || in64.length > 0) !== random.chance(0.1))
      : Buffer.alloc(0),
    attributes: attributesOf(random, name.endsWith('/'), system),
    system,
    internal: 0,
    comment: Buffer.alloc(0),
    in64,
    shift: 0,
    gap: Buffer.alloc(0),
  };
}

const wideForms: readonly (readonly Wide[])[] = [
  [],
  [],
  ['bytes', 'packed'],
  ['bytes', 'packed'],
  ['bytes', 'packed', 'offset'],
  ['bytes', 'packed', 'offset'],
  ['bytes'],
  ['packed'],
  ['offset'],
  ['bytes', 'packed', 'offset', 'disk'],
];

/** Type, permissions and attributes of DOS, each sound or odd on its own. */
function attributesOf(random: Random, isFolder: boolean, system: number): number {
  const type = random.chance(0.03) ? random.pick(unixTypes) : random.pick([0, isFolder ? 0o040000 : 0o100000]);
  const sound = isFolder ? random.pick([0o755, 0o775, 0o700]) : random.pick(soundModes);
  const mode = random.chance(0.03) ? random.pick(oddModes) : sound;
  let bits = isFolder && random.chance(0.7) ? 0x10 : 0;
  for (const bit of soundBits) if (random.chance(0.1)) bits |= bit;
  for (const bit of oddBits) if (random.chance(0.008)) bits |= bit;
  return unix(random.chance(system === 0 ? 0.5 : 0.02) ? 0 : type | mode) + bits;
}

/** Both sizes in 64 bits, true or left to the descriptor, or beside those of the header; sometimes only a part of them. */
function localIn64(random: Random, local: ZipFields, { bytes, packed }: ZipFields): void {
  const isUnknown = local.bytes === 0 && local.packed === 0;
  const values = random.chance(0.05) ? [bytes] : isUnknown ? [0, 0] : [bytes, packed];
  local.extra = Buffer.concat([local.extra, extra(1, wide(...values))]);
  if (random.chance(0.2)) return;
  if (random.chance(0.95)) local.bytes = 0xffffffff;
  if (random.chance(0.95)) local.packed = 0xffffffff;
}

/** What a local header leaves to the data descriptor: all, nothing, or a part. */
function unknownSizes(random: Random, { crc, packed, bytes }: ZipFields): Partial<ZipFields> {
  switch (random.below(5)) {
    case 0:
    case 1:
      return { crc: 0, packed: 0, bytes: 0 };
    case 2:
      return { crc, packed, bytes };
    case 3:
      return { crc: 0, packed, bytes };
    default:
      return { crc: random.pick([0, crc]), packed: random.pick([0, packed]), bytes: random.pick([0, bytes]) };
  }
}

/** Sets what says neither name nor size. */
function decorate(random: Random, entry: Entry): void {
  const both = [entry.local, entry.central];
  const sides = random.chance(0.7) ? both : [random.pick(both)];
  switch (random.below(9)) {
    case 0:
      entry.system = random.pick(systems);
      return;
    case 1:
      for (const side of sides) side.needed = random.pick([0, 10, 20, 45]);
      return;
    case 2:
      for (const side of both) side.flags |= random.pick([2, 4, 6]);
      return;
    case 3:
      for (const side of sides) side.modified = random.pick([0x21_0000, 0x5765_6f7b, 0xffffffff, 0x0000_ffff]);
      return;
    case 4:
      entry.internal = random.pick([1, 2, 0xffff]);
      return;
    case 5:
      entry.comment = random.pick([Buffer.from('a comment'), random.bytes(random.below(30)), Buffer.from('\u00fc')]);
      return;
    case 6:
      entry.comment = Buffer.alloc(random.pick([4096, 8192, 8193, 65_535]), 'c');
      return;
    case 7: {
      const [local, central] = soundExtra(random, entry.local.name);
      entry.local.extra = Buffer.concat([entry.local.extra, local]);
      entry.central.extra = Buffer.concat([entry.central.extra, central]);
      return;
    }
    default:
      for (const side of sides) side.extra = Buffer.concat([side.extra, oddExtra(random, side.name)]);
  }
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
      entry.attributes = unix(random.pick(unixTypes) | random.pick(oddModes)) + random.pick(oddBits);
      return;
    case 13:
      entry.system = random.below(24);
      return;
    case 14:
      side.needed = random.pick([46, 51, 63, 0x0314, 0xffff]);
      return;
    default:
      entry.descriptor = random.chance(0.5)
        ? random.bytes(random.pick([12, 16, 20, 24]))
        : Buffer.concat([entry.descriptor, Buffer.alloc(4)]);
      if (random.chance(0.5)) entry.comment = random.bytes(random.below(30));
  }
}

function assemble(random: Random, entries: readonly Entry[], in64: boolean): Buffer {
  const pieces: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  const push = (piece: Buffer) => {
    pieces.push(piece);
    offset += piece.length;
  };
  if (random.chance(0.03)) push(random.bytes(1 + random.below(30)));
  for (const entry of entries) {
    push(entry.gap);
    const { attributes, system, internal, comment } = entry;
    const place = Math.max(0, offset + entry.shift);
    const disk = entry.in64.includes('disk') && random.chance(0.5) ? 0xffff : 0;
    const told = {
      offset: entry.in64.includes('offset') ? 0xffffffff : place,
      attributes,
      system,
      internal,
      comment,
      disk,
    };
    central.push(zipCentralHeader(widened(entry.central, entry.in64, place), told));
    push(zipLocalHeader(entry.local));
    push(entry.data);
    push(entry.descriptor);
  }
  if (central.length > 1 && random.chance(0.03)) central.reverse();
  if (central.length > 1 && random.chance(0.03)) central.pop();
  const start = offset;
  for (const header of central) push(header);
  for (const piece of endRecords(random, { entries: central.length, start, bytes: offset - start }, in64)) push(piece);
  return Buffer.concat(pieces);
}

function endRecords(random: Random, told: { entries: number; start: number; bytes: number }, in64: boolean): Buffer[] {
  const change = (value: number, most: number) =>
    random.chance(0.01) ? Math.min(most, Math.max(0, random.pick([...interesting, value + 1, value - 1]))) : value;
  const comment = random.chance(0.1)
    ? random.pick([
        Buffer.from('hello'),
        Buffer.from(`PK\x05\x06${'\0'.repeat(18)}`),
        Buffer.alloc(random.pick([8192, 8193, 16_384, 65_535]), 'c'),
      ])
    : Buffer.alloc(0);
  const with64 = random.chance(in64 ? 0.8 : 0.03);
  const hides = with64 ? random.pick([[], ['start'], ['entries'], ['entries', 'bytes', 'start'], everything]) : [];
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
  if (!with64) return [end];
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

function descriptorOf(random: Random, { crc, packed, bytes }: ZipFields, isWide: boolean): Buffer {
  const body = isWide ? Buffer.concat([narrow(crc), wide(packed, bytes)]) : narrow(crc, packed, bytes);
  return random.chance(0.8) ? Buffer.concat([Buffer.from('PK\x07\x08', 'latin1'), body]) : body;
}

function unix(mode: number): number {
  return mode * 2 ** 16;
}
