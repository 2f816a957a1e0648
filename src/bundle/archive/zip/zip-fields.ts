import { crc32 } from 'node:zlib';
import { ArchiveFault } from '../archive-fault.ts';
import { in32Bits } from './zip-end.ts';

export const stored = 0;
const deflated = 8;
export const flag = { encrypted: 1, descriptor: 8, utf8: 0x800 } as const;
/** Bits that change nothing in how an entry is read: the packer's settings, and the two above. */
const knownFlags = 0b110 | flag.descriptor | flag.utf8;
/** Classic, strong, and the directory's own encryption. */
const encryptionFlags = flag.encrypted | 0x40 | 0x2000;

const zip64 = 0x0001;
const unicodePath = 0x7075;

/** The fields that local and central headers share, in the same order and form. */
export interface SharedFields {
  flags: number;
  method: number;
  crc: number;
  packed: number;
  bytes: number;
  nameLength: number;
  extraLength: number;
}

export function readShared(header: Buffer, at: number): SharedFields {
  return {
    flags: header.readUInt16LE(at),
    method: header.readUInt16LE(at + 2),
    crc: header.readUInt32LE(at + 8),
    packed: header.readUInt32LE(at + 12),
    bytes: header.readUInt32LE(at + 16),
    nameLength: header.readUInt16LE(at + 20),
    extraLength: header.readUInt16LE(at + 22),
  };
}

/** Refuses what only some readers understand: encryption, other methods, unknown flags. Throws `ArchiveFault`. */
export function requireReadable({ flags, method }: SharedFields, name: string): void {
  if (flags & encryptionFlags) throw new ArchiveFault('encrypted', name, 'encrypted entries are refused');
  if (flags & ~knownFlags) throw new ArchiveFault('zip-flags', name, 'the entry has flags of unknown meaning');
  if (method !== stored && method !== deflated) {
    throw new ArchiveFault('compression-method', name, `compression method ${method} is not supported`);
  }
}

/** Refuses names that readers understand in different ways. Throws `ArchiveFault`. */
export function requireOneName(raw: Buffer, flags: number, extra: ExtraFields): string {
  const name = raw.toString('utf8');
  if ((flags & flag.utf8) === 0 && raw.some((byte) => byte > 0x7f)) {
    throw new ArchiveFault(
      'ambiguous-name',
      name,
      'the name is not ASCII and not marked as UTF-8, so that programs read it in different ways',
    );
  }
  const second = extra.get(unicodePath);
  if (second && !(second.length >= 5 && second.readUInt32LE(1) === crc32(raw) && second.subarray(5).equals(raw))) {
    throw new ArchiveFault('ambiguous-name', name, 'the entry has a second, different name');
  }
  return name;
}

export type ExtraFields = ReadonlyMap<number, Buffer>;
const none: ExtraFields = new Map();

/** Takes an extra field apart; it must be used up exactly, each kind once. Throws `ArchiveFault`. */
export function parseExtra(extra: Buffer, name: Buffer): ExtraFields {
  if (extra.length === 0) return none;
  const fields = new Map<number, Buffer>();
  for (let at = 0; at < extra.length; ) {
    const id = at + 4 <= extra.length ? extra.readUInt16LE(at) : null;
    const end = id === null ? Number.POSITIVE_INFINITY : at + 4 + extra.readUInt16LE(at + 2);
    if (id === null || end > extra.length || fields.has(id)) {
      throw new ArchiveFault('extra-field', name.toString('utf8'), 'an extra field is cut, too long or there twice');
    }
    fields.set(id, extra.subarray(at + 4, end));
    at = end;
  }
  return fields;
}

/**
 * Puts the 64-bit values in the place of the 32-bit ones that refer to them. The field must hold exactly those, in the
 * order of the format. Throws `ArchiveFault`.
 */
export function widen(values: readonly number[], extra: ExtraFields, name: Buffer): number[] {
  const field = extra.get(zip64);
  const referring = values.filter((value) => value === in32Bits).length;
  if ((field?.length ?? 0) !== referring * 8) {
    throw new ArchiveFault('zip64', name.toString('utf8'), 'the 64-bit sizes are missing or more than are asked for');
  }
  let at = 0;
  return values.map((value) => {
    if (value !== in32Bits || field === undefined) return value;
    at += 8;
    return toSafeNumber(field.readBigUInt64LE(at - 8), name);
  });
}

export function has64(extra: ExtraFields): boolean {
  return extra.has(zip64);
}

/** As a number; sizes that are no safe integer are lies. Throws `ArchiveFault`. */
function toSafeNumber(value: bigint, name: Buffer): number {
  if (value <= Number.MAX_SAFE_INTEGER) return Number(value);
  throw new ArchiveFault('zip64', name.toString('utf8'), 'a 64-bit size is beyond anything that can be');
}
