import { crc32 } from 'node:zlib';
import { ArchiveFault } from './archive-fault.ts';
import { in32Bits } from './zip-end.ts';
import { type ExtraFields, extraKind } from './zip-extra.ts';

export const stored = 0;
const deflated = 8;
export const flag = { encrypted: 1, descriptor: 8, utf8: 0x800 } as const;
/** Bits that change nothing in how an entry is read: the packer's settings, and the two above. */
const knownFlags = 0b110 | flag.descriptor | flag.utf8;
/** Classic, strong, and the directory's own encryption. */
const encryptionFlags = flag.encrypted | 0x40 | 0x2000;

/** Version 4.5, which 64-bit sizes need. Info-ZIP skips entries that need a newer version. */
const newestVersion = 45;

/** The fields that local and central headers share, from the version needed on. */
export interface SharedFields {
  /** Version of the format that a reader needs, times ten. */
  needed: number;
  flags: number;
  method: number;
  crc: number;
  packed: number;
  bytes: number;
  nameLength: number;
  extraLength: number;
}

export interface LocalSizes {
  bytes: number;
  packed: number;
  /** The header's own fields only refer to them. */
  in64: boolean;
}

export function readShared(header: Buffer, at: number): SharedFields {
  return {
    needed: header.readUInt16LE(at - 2),
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
export function requireReadable({ needed, flags, method }: SharedFields, name: string): void {
  if (needed > newestVersion) {
    throw new ArchiveFault('zip-version', name, `the entry needs version ${needed / 10} of the format`);
  }
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
  const second = extra.get(extraKind.unicodePath);
  // For a name that is not marked, even an equal one makes Info-ZIP take data descriptors in the archive for overlaps.
  if (second && !((flags & flag.utf8) !== 0 && repeats(second, raw))) {
    throw new ArchiveFault('ambiguous-name', name, 'the entry has a second name');
  }
  return name;
}

/** Whether a Unicode Path of version 1 is for this name, and equal to it. */
function repeats(unicodePath: Buffer, name: Buffer): boolean {
  if (unicodePath.length < 5 || unicodePath.readUInt8(0) !== 1) return false;
  return unicodePath.readUInt32LE(1) === crc32(name) && unicodePath.subarray(5).equals(name);
}

/**
 * Puts the 64-bit values in the place of those of the directory that refer to them, whether they need 64 bits or not. The
 * field must hold exactly those, in the order of the format. Throws `ArchiveFault`.
 */
export function widen(values: readonly number[], extra: ExtraFields, name: Buffer): number[] {
  const field = extra.get(extraKind.zip64);
  const referring = values.filter((value) => value === in32Bits).length;
  if ((field?.length ?? 0) !== referring * 8)
    throw not64(name, 'the 64-bit sizes are missing or more than are asked for');
  let at = 0;
  return values.map((value) => {
    if (value !== in32Bits || field === undefined) return value;
    at += 8;
    return toSafeNumber(field.readBigUInt64LE(at - 8), name);
  });
}

/**
 * The sizes of a local header. A 64-bit field always holds both; they stand for both of the header's, or repeat them. Throws
 * `ArchiveFault`.
 */
export function localSizes({ bytes, packed }: SharedFields, extra: ExtraFields, name: Buffer): LocalSizes {
  const field = extra.get(extraKind.zip64);
  const referring = [bytes, packed].filter((size) => size === in32Bits).length;
  if (field === undefined && referring === 0) return { bytes, packed, in64: false };
  if (field?.length !== 16 || referring === 1) throw not64(name, 'a 64-bit size is missing or not asked for');
  const [wideBytes, widePacked] = [0, 8].map((at) => toSafeNumber(field.readBigUInt64LE(at), name));
  if (wideBytes === undefined || widePacked === undefined) throw new RangeError('two sizes were read');
  if (referring === 0 && (wideBytes !== bytes || widePacked !== packed)) {
    throw not64(name, 'the 64-bit sizes and the 32-bit ones do not say the same');
  }
  return { bytes: wideBytes, packed: widePacked, in64: referring === 2 };
}

/** As a number; sizes that are no safe integer are lies. Throws `ArchiveFault`. */
function toSafeNumber(value: bigint, name: Buffer): number {
  if (value <= Number.MAX_SAFE_INTEGER) return Number(value);
  throw not64(name, 'a 64-bit size is beyond anything that can be');
}

function not64(name: Buffer, detail: string): ArchiveFault {
  return new ArchiveFault('zip64', name.toString('utf8'), detail);
}
