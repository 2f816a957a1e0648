import { crc32, deflateRawSync } from 'node:zlib';
import { extra, wide, type ZipFields, zipCentralHeader, zipEnd, zipLocalHeader } from './zip-bytes.ts';

/** An entry of which every byte can be said; what is not said is as it should be. */
export interface RawEntry {
  name: string;
  content?: string | Buffer;
  stored?: boolean;
  /** In the place of the compressed content. */
  data?: Buffer;
  both?: Partial<ZipFields>;
  local?: Partial<ZipFields>;
  central?: Partial<ZipFields>;
  descriptor?: Buffer;
  /** What the directory says in 64 bits. */
  in64?: readonly ('bytes' | 'packed' | 'offset')[];
  before?: Buffer;
  /** Where the directory says it lies. */
  offset?: number;
  disk?: number;
  attributes?: number;
  system?: number;
  comment?: Buffer;
}

export interface RawEnd {
  disk?: number;
  entries?: number;
  bytes?: number;
  start?: number;
  /** Between the directory and the end record, given where the directory lies. */
  before?: (directory: { entries: number; start: number; bytes: number }) => Buffer;
  comment?: Buffer;
}

export function rawZip(entries: readonly RawEntry[], end: RawEnd = {}): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let place = 0;
  for (const entry of entries) {
    const { data, fields } = truthOf(entry);
    const {
      before = Buffer.alloc(0),
      descriptor = Buffer.alloc(0),
      attributes = (entry.name.endsWith('/') ? 0o040755 : 0o100644) * 2 ** 16,
      system = 3,
      comment = Buffer.alloc(0),
      offset,
      disk = 0,
    } = entry;
    const local = Buffer.concat([zipLocalHeader({ ...fields, ...entry.local }), data, descriptor]);
    const { in64 = [] } = entry;
    const truth = { bytes: fields.bytes, packed: fields.packed, offset: offset ?? place + before.length };
    const said = { ...truth, ...Object.fromEntries(in64.map((what) => [what, 0xffffffff])) };
    const more = in64.length === 0 ? fields.extra : extra(1, wide(...in64.map((what) => truth[what])));
    const told = { disk, system, comment, attributes, offset: said.offset };
    const central = { ...fields, bytes: said.bytes, packed: said.packed, extra: more, ...entry.central };
    centrals.push(zipCentralHeader(central, told));
    locals.push(before, local);
    place += before.length + local.length;
  }
  const directory = Buffer.concat(centrals);
  const told = { entries: entries.length, start: place, bytes: directory.length };
  return Buffer.concat([...locals, directory, end.before?.(told) ?? Buffer.alloc(0), endRecord(told, end)]);
}

/** The 64-bit record and its locator; `change` alters the record. */
export function zip64Records(
  { entries, start, bytes }: { entries: number; start: number; bytes: number },
  change: (record: Buffer) => void = () => undefined,
): Buffer {
  const record = Buffer.alloc(56);
  record.write('PK\x06\x06', 'latin1');
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(BigInt(entries), 24);
  record.writeBigUInt64LE(BigInt(entries), 32);
  record.writeBigUInt64LE(BigInt(bytes), 40);
  record.writeBigUInt64LE(BigInt(start), 48);
  change(record);
  const locator = Buffer.alloc(20);
  locator.write('PK\x06\x07', 'latin1');
  locator.writeBigUInt64LE(BigInt(start + bytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator]);
}

function truthOf({ name, content = '', stored = false, data, both }: RawEntry): { data: Buffer; fields: ZipFields } {
  const bytes = Buffer.from(content);
  const packed = data ?? (stored ? bytes : deflateRawSync(bytes));
  const method = stored ? 0 : 8;
  const sizes = { crc: crc32(bytes), packed: packed.length, bytes: bytes.length };
  const fields = { flags: 0x800, method, ...sizes, name: Buffer.from(name), extra: Buffer.alloc(0), ...both };
  return { data: packed, fields };
}

function endRecord(told: { entries: number; start: number; bytes: number }, end: RawEnd): Buffer {
  const { disk = 0, entries = told.entries, bytes = told.bytes, start = told.start, comment = Buffer.alloc(0) } = end;
  return zipEnd({ disk, entriesHere: entries, entries, bytes, start, comment });
}
