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
/** Attributes: of Unix, of both, of DOS, none. */
const unixAttributes = [unix(0o100644), unix(0o100755), unix(0o644), unix(0o100400), unix(0o100600) + 1];
const soundAttributes = [...unixAttributes, 0, 0x20, 0x01, 0x21, 0x80];
const oddAttributes = [
  0,
  unix(0o100000),
  ...[0o120777, 0o040755, 0o104755, 0o102755, 0o101755, 0o010644, 0o060000, 0o020000, 0o140000, 0o150000].map(unix),
  0x02,
  0x04,
  0x08,
  0x10,
  0x400,
  0x28,
];
const systems = [0, 3, 10, 11, 14, 19];
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
  /** Added to the true offset. */
  shift: number;
  /** Bytes before the local header. */
  gap: Buffer;
}

/** A zip that was valid before something was changed in it. */
export function zipInput(random: Random): Buffer {
  const entries = smallSite(random).map((file) => entryOf(random, file));
  for (const name of ['b/', './', 'empty/']) {
    if (random.chance(0.12)) entries.push(entryOf(random, { name, content: Buffer.alloc(0) }));
  }
  for (const entry of entries) if (random.chance(0.3)) decorate(random, entry);
  for (let left = random.pick([0, 0, 1, 1, 2]); left > 0; left -= 1) changeEntries(random, entries);
  const bytes = assemble(random, entries);
  return random.chance(0.25) ? damage(random, bytes, random.pick([1, 4, 16])) : bytes;
}

function entryOf(random: Random, { name, content }: SmallFile): Entry {
  const stored = random.chance(0.3);
  const data = stored
    ? content
    : deflateRawSync(content, { level: random.pick([1, 6, 9]), windowBits: 12, memLevel: 5 });
  const late = random.chance(stored ? 0.02 : 0.35);
  const isWide = random.chance(0.02);
  const system = random.pick([0, 3, 3]);
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
  const local = isWide ? widened({ ...truth, extra: forLocal }) : { ...truth, extra: forLocal };
  const central =
    isWide && random.chance(0.5) ? widened({ ...truth, extra: forCentral }) : { ...truth, extra: forCentral };
  if (late && !isWide) Object.assign(local, unknownSizes(random, truth));
  return {
    local,
    central,
    data,
    descriptor: late ? descriptorOf(random, truth, isWide) : Buffer.alloc(0),
    attributes: name.endsWith('/')
      ? random.pick([...(system === 0 ? [0x10] : []), unix(0o040755) + 0x10, unix(0o040775)])
      : random.pick(system === 0 ? soundAttributes : unixAttributes),
    system,
    internal: 0,
    comment: Buffer.alloc(0),
    shift: 0,
    gap: Buffer.alloc(0),
  };
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
  switch (random.below(8)) {
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
    case 6: {
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
      entry.attributes = random.pick(oddAttributes);
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

function assemble(random: Random, entries: readonly Entry[]): Buffer {
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
    const { central: told, attributes, system, internal, comment } = entry;
    central.push(
      zipCentralHeader(told, { offset: Math.max(0, offset + entry.shift), attributes, system, internal, comment }),
    );
    push(zipLocalHeader(entry.local));
    push(entry.data);
    push(entry.descriptor);
  }
  if (central.length > 1 && random.chance(0.03)) central.reverse();
  if (central.length > 1 && random.chance(0.03)) central.pop();
  const start = offset;
  for (const header of central) push(header);
  for (const piece of endRecords(random, { entries: central.length, start, bytes: offset - start })) push(piece);
  return Buffer.concat(pieces);
}

function endRecords(random: Random, told: { entries: number; start: number; bytes: number }): Buffer[] {
  const change = (value: number, most: number) =>
    random.chance(0.01) ? Math.min(most, Math.max(0, random.pick([...interesting, value + 1, value - 1]))) : value;
  const comment = random.chance(0.1)
    ? random.pick([Buffer.from('hello'), Buffer.from(`PK\x05\x06${'\0'.repeat(18)}`)])
    : Buffer.alloc(0);
  const with64 = random.chance(0.03);
  const hide = with64 && random.chance(0.6);
  const end = zipEnd({
    disk: change(0, 0xffff),
    entriesHere: hide ? 0xffff : change(told.entries, 0xffff),
    entries: hide ? 0xffff : change(told.entries, 0xffff),
    bytes: hide ? 0xffffffff : change(told.bytes, 0xffffffff),
    start: hide ? 0xffffffff : change(told.start, 0xffffffff),
    comment,
    commentLength: change(comment.length, 0xffff),
  });
  if (!with64) return [end];
  const record = Buffer.alloc(56);
  record.write('PK\x06\x06', 'latin1');
  record.writeBigUInt64LE(BigInt(change(44, 0xffff)), 4);
  for (const at of [24, 32]) record.writeBigUInt64LE(BigInt(change(told.entries, 0xffffffff)), at);
  record.writeBigUInt64LE(BigInt(change(told.bytes, 0xffffffff)), 40);
  record.writeBigUInt64LE(BigInt(change(told.start, 0xffffffff)), 48);
  const locator = Buffer.alloc(20);
  locator.write('PK\x06\x07', 'latin1');
  locator.writeBigUInt64LE(BigInt(change(told.start + told.bytes, 0xffffffff)), 8);
  locator.writeUInt32LE(change(1, 0xffff), 16);
  return [record, locator, end];
}

function widened(fields: ZipFields): ZipFields {
  const sizes = extra(1, wide(fields.bytes, fields.packed));
  return { ...fields, bytes: 0xffffffff, packed: 0xffffffff, extra: Buffer.concat([fields.extra, sizes]) };
}

function descriptorOf(random: Random, { crc, packed, bytes }: ZipFields, isWide: boolean): Buffer {
  const body = isWide ? Buffer.concat([narrow(crc), wide(packed, bytes)]) : narrow(crc, packed, bytes);
  return random.chance(0.8) ? Buffer.concat([Buffer.from('PK\x07\x08', 'latin1'), body]) : body;
}

function unix(mode: number): number {
  return mode * 2 ** 16;
}
