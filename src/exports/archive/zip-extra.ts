import { ArchiveFault } from './archive-fault.ts';

export const extraKind = { zip64: 0x0001, unicodePath: 0x7075 } as const;

/** Extra fields by their kind. */
export type ExtraFields = ReadonlyMap<number, Buffer>;

type Side = 'local' | 'central';

const none: ExtraFields = new Map();
const ntfsTimes = 0x0001;

/**
 * The kinds that do not change what an entry unpacks to, each with a check of its form: some readers refuse malformed
 * fields. All other kinds are refused: ASi (0x756e), for one, turns a file into a symbolic link.
 */
const forms: ReadonlyMap<number, (data: Buffer, side: Side) => boolean> = new Map([
  [extraKind.zip64, () => true],
  [extraKind.unicodePath, () => true],
  // Times of NTFS: four unused bytes, then one attribute of three times.
  [0x000a, (data) => data.length === 32 && data.readUInt16LE(4) === ntfsTimes && data.readUInt16LE(6) === 24],
  // Extended timestamp: flags, then a time for each of three flags; the directory may hold only the first.
  [0x5455, isExtendedTimestamp],
  // Info-ZIP's three kinds of owners, the first with times.
  [0x5855, ({ length }, side) => length === 8 || (length === 12 && side === 'local')],
  [0x7855, ({ length }, side) => length === (side === 'local' ? 4 : 0)],
  [0x7875, isOwner],
  // The marker of a jar.
  [0xcafe, ({ length }) => length === 0],
]);

/** Parses an extra field, which must be used up exactly, with each kind once. Throws `ArchiveFault`. */
export function parseExtra(extra: Buffer, side: Side, name: Buffer): ExtraFields {
  if (extra.length === 0) return none;
  const fields = new Map<number, Buffer>();
  for (let at = 0; at < extra.length; ) {
    const kind = at + 4 <= extra.length ? extra.readUInt16LE(at) : null;
    const end = kind === null ? Number.POSITIVE_INFINITY : at + 4 + extra.readUInt16LE(at + 2);
    if (kind === null || end > extra.length || fields.has(kind)) {
      throw fault(name, 'an extra field is cut, too long or repeated');
    }
    const data = extra.subarray(at + 4, end);
    const isSound = forms.get(kind);
    if (!isSound) throw fault(name, `an extra field is of kind 0x${kind.toString(16)}`);
    if (!isSound(data, side)) throw fault(name, `the extra field of kind 0x${kind.toString(16)} is malformed`);
    fields.set(kind, data);
    at = end;
  }
  return fields;
}

function isExtendedTimestamp(data: Buffer, side: Side): boolean {
  const flags = data[0] ?? 0;
  const times = [1, 2, 4].filter((flag) => (flags & flag) !== 0).length;
  if (data.length === 0 || flags > 7) return false;
  return data.length === 1 + 4 * times || (side === 'central' && data.length === 1 + 4 * (flags & 1));
}

/** Version 1, then user id and group id, each preceded by its length. */
function isOwner(data: Buffer): boolean {
  const userBytes = data[1] ?? 0;
  const groupBytes = data[2 + userBytes] ?? 0;
  return data[0] === 1 && [userBytes, groupBytes].every(isIdLength) && data.length === 3 + userBytes + groupBytes;
}

function isIdLength(bytes: number): boolean {
  return bytes === 2 || bytes === 4;
}

function fault(name: Buffer, detail: string): ArchiveFault {
  return new ArchiveFault('extra-field', name.toString('utf8'), detail);
}
