/** Fields that the local and the central header both have. */
export interface ZipFields {
  /** Version of the format that a reader needs, times ten. */
  needed?: number;
  /** DOS time and date, one after the other. */
  modified?: number;
  flags: number;
  method: number;
  crc: number;
  packed: number;
  bytes: number;
  name: Buffer;
  extra: Buffer;
}

/** What only the central header says. */
interface CentralFields {
  /** Where the local header lies. */
  offset: number;
  attributes: number;
  /** Of the version that made it: 3 for Unix. */
  system?: number;
  /** Bit 0 for text. */
  internal?: number;
  disk?: number;
  comment?: Buffer;
}

interface EndFields {
  disk?: number;
  entriesHere: number;
  entries: number;
  bytes: number;
  start: number;
  comment: Buffer;
  commentLength?: number;
}

/** Writes the fields as given, true or not. */
export function zipLocalHeader(fields: ZipFields): Buffer {
  return Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), sharedBytes(fields), fields.name, fields.extra]);
}

export function zipCentralHeader(fields: ZipFields, central: CentralFields): Buffer {
  const { offset, attributes, system = 3, internal = 0, disk = 0, comment = Buffer.alloc(0) } = central;
  const rest = Buffer.alloc(14);
  rest.writeUInt16LE(comment.length, 0);
  rest.writeUInt16LE(disk, 2);
  rest.writeUInt16LE(internal, 4);
  rest.writeUInt32LE(attributes >>> 0, 6);
  rest.writeUInt32LE(offset, 10);
  const signature = Buffer.from([0x50, 0x4b, 1, 2, 20, system]);
  return Buffer.concat([signature, sharedBytes(fields), rest, fields.name, fields.extra, comment]);
}

export function zipEnd({ disk = 0, entriesHere, entries, bytes, start, comment, commentLength }: EndFields): Buffer {
  const record = Buffer.alloc(22);
  record.write('PK\x05\x06', 'latin1');
  record.writeUInt16LE(disk, 4);
  record.writeUInt16LE(disk, 6);
  record.writeUInt16LE(entriesHere, 8);
  record.writeUInt16LE(entries, 10);
  record.writeUInt32LE(bytes, 12);
  record.writeUInt32LE(start, 16);
  record.writeUInt16LE(commentLength ?? comment.length, 20);
  return Buffer.concat([record, comment]);
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

function sharedBytes(fields: ZipFields): Buffer {
  const { needed = 20, flags, method, modified = 0, crc, packed, bytes, name, extra: more } = fields;
  const head = Buffer.alloc(26);
  head.writeUInt16LE(needed, 0);
  head.writeUInt16LE(flags & 0xffff, 2);
  head.writeUInt16LE(method, 4);
  head.writeUInt32LE(modified, 6);
  head.writeUInt32LE(crc >>> 0, 10);
  head.writeUInt32LE(packed, 14);
  head.writeUInt32LE(bytes, 18);
  head.writeUInt16LE(name.length, 22);
  head.writeUInt16LE(more.length, 24);
  return head;
}
