import { crc32, deflateRawSync } from 'node:zlib';

/** Fields that the local and the central header both have. */
export interface ZipFields {
  flags: number;
  method: number;
  crc: number;
  packed: number;
  bytes: number;
  name: Buffer;
  extra: Buffer;
}

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
  before?: Buffer;
  /** Where the directory says it lies. */
  offset?: number;
  disk?: number;
  attributes?: number;
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
    const { before = Buffer.alloc(0), descriptor = Buffer.alloc(0), attributes = 0, offset, disk = 0 } = entry;
    const local = Buffer.concat([signed('PK\x03\x04', { ...fields, ...entry.local }), data, descriptor]);
    const rest = Buffer.alloc(14);
    rest.writeUInt16LE(disk, 2);
    rest.writeUInt32LE(attributes >>> 0, 6);
    rest.writeUInt32LE(offset ?? place + before.length, 10);
    centrals.push(signed('PK\x01\x02\x14\x03', { ...fields, ...entry.central }, rest));
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

/** An extra field of this kind. */
export function extra(id: number, data: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(id, 0);
  head.writeUInt16LE(data.length, 2);
  return Buffer.concat([head, data]);
}

/** 64-bit numbers one after the other. */
export function wide(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 8);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), index * 8);
  return bytes;
}

/** 32-bit numbers one after the other. */
export function narrow(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value >>> 0, index * 4);
  return bytes;
}

function truthOf({ name, content = '', stored = false, data, both }: RawEntry): { data: Buffer; fields: ZipFields } {
  const bytes = Buffer.from(content);
  const packed = data ?? (stored ? bytes : deflateRawSync(bytes));
  const method = stored ? 0 : 8;
  const sizes = { crc: crc32(bytes), packed: packed.length, bytes: bytes.length };
  const fields = { flags: 0x800, method, ...sizes, name: Buffer.from(name), extra: Buffer.alloc(0), ...both };
  return { data: packed, fields };
}

function signed(signature: string, fields: ZipFields, rest = Buffer.alloc(0)): Buffer {
  const { flags, method, crc, packed, bytes, name, extra: more } = fields;
  const head = Buffer.alloc(26);
  head.writeUInt16LE(20, 0);
  head.writeUInt16LE(flags, 2);
  head.writeUInt16LE(method, 4);
  head.writeUInt32LE(crc, 10);
  head.writeUInt32LE(packed, 14);
  head.writeUInt32LE(bytes, 18);
  head.writeUInt16LE(name.length, 22);
  head.writeUInt16LE(more.length, 24);
  return Buffer.concat([Buffer.from(signature, 'latin1'), head, rest, name, more]);
}

function endRecord(told: { entries: number; start: number; bytes: number }, end: RawEnd): Buffer {
  const { disk = 0, entries = told.entries, bytes = told.bytes, start = told.start, comment = Buffer.alloc(0) } = end;
  const record = Buffer.alloc(22);
  record.write('PK\x05\x06', 'latin1');
  record.writeUInt16LE(disk, 4);
  record.writeUInt16LE(entries, 8);
  record.writeUInt16LE(entries, 10);
  record.writeUInt32LE(bytes, 12);
  record.writeUInt32LE(start, 16);
  record.writeUInt16LE(comment.length, 20);
  return Buffer.concat([record, comment]);
}
