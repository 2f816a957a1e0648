import { isUtf8 } from 'node:buffer';
import { ArchiveFault } from './archive-fault.ts';
import { maxOwner } from './tar-header.ts';

const space = 0x20;
const equalsSign = 0x3d;
const newline = 0x0a;
const utf8Charset = 'ISO-IR 10646 2000 UTF-8';
const sparse = /^(GNU\.sparse\.|SCHILY\.(realsize|filetype)$)/;
const time = /^-?\d{1,11}(\.\d{1,9})?$/;
const id = /^\d{1,10}$/;
const anyText = /^/;
/** The form of each key's value; some readers refuse any other form. */
const common: ReadonlyMap<string, RegExp> = new Map([
  ['atime', time],
  ['ctime', time],
  ['mtime', time],
  ['LIBARCHIVE.creationtime', time],
  ['uid', id],
  ['gid', id],
  ['SCHILY.dev', id],
  ['SCHILY.ino', anyText],
  ['SCHILY.nlink', id],
  ['uname', anyText],
  ['gname', anyText],
  ['comment', anyText],
]);
const forOneEntry: typeof common = new Map([...common, ['path', anyText], ['size', anyText], ['hdrcharset', anyText]]);
/** Keys that set an entry's name or size, or how other values are read. */
const deciding = new Set(['path', 'size', 'linkpath', 'hdrcharset', 'charset']);

/** What pax records say about the entry that follows. */
export interface PaxOverride {
  path: Buffer | null;
  bytes: number | null;
}

/** Reads the records of a header for one entry (type `x`). Throws `ArchiveFault`. */
export function parsePaxOverride(data: Buffer): PaxOverride {
  const records = parseRecords(data, forOneEntry);
  const charset = records.get('hdrcharset')?.toString('latin1') ?? utf8Charset;
  if (charset !== utf8Charset) throw fault('pax-charset', `the names are in another character set than UTF-8`);
  const size = records.get('size');
  return { path: records.get('path') ?? null, bytes: size === undefined ? null : parseSize(size) };
}

/** Checks the records of a header for all entries (type `g`): none may change what an entry is. Throws `ArchiveFault`. */
export function checkPaxGlobals(data: Buffer): void {
  parseRecords(data, common);
}

function parseRecords(data: Buffer, known: typeof common): Map<string, Buffer> {
  // Some libraries stop at an empty header.
  if (data.length === 0) throw malformed();
  const records = new Map<string, Buffer>();
  for (let start = 0; start < data.length; ) {
    const end = start + recordLength(data, start);
    const equals = data.indexOf(equalsSign, start);
    if (end > data.length || data[end - 1] !== newline || equals < 0 || equals >= end) throw malformed();
    const key = data.toString('utf8', data.indexOf(space, start) + 1, equals);
    if (key === '') throw malformed();
    if (records.has(key)) throw fault('pax-duplicate', `"${key.slice(0, 50)}" is set twice for one entry`);
    const value = data.subarray(equals + 1, end - 1);
    requireHarmless(key, value, known);
    records.set(key, value);
    start = end;
  }
  return records;
}

/** Refuses keys and values that only some readers act on. Throws `ArchiveFault`. */
function requireHarmless(key: string, value: Buffer, known: typeof common): void {
  if (sparse.test(key)) throw fault('sparse', 'sparse files are refused');
  const form = known.get(key);
  if (known === common && deciding.has(key)) throw fault('pax-global', `a header for all entries sets "${key}"`);
  if (form === undefined) throw fault('pax-keyword', `a pax header sets ${JSON.stringify(key.slice(0, 50))}`);
  const isText = key === 'path' || (isUtf8(value) && !value.includes(0));
  const text = value.toString('latin1');
  const isSound = form.test(text) && (form !== id || Number(text) <= maxOwner);
  if (!isText || value.includes(newline) || !isSound) {
    throw fault('pax-record', `a pax header sets "${key}" to a value that readers interpret differently`);
  }
}

/** The decimal number that starts a record: the record's length, including the number. */
function recordLength(data: Buffer, start: number): number {
  const [, digits] = /^([1-9]\d{0,6}) /.exec(data.toString('latin1', start, start + 8)) ?? [];
  const length = Number(digits ?? 0);
  if (digits === undefined || length < digits.length + 4) throw malformed();
  return length;
}

function parseSize(value: Buffer): number {
  const text = value.toString('latin1');
  const size = Number(text);
  if (!/^(0|[1-9]\d*)$/.test(text) || !Number.isSafeInteger(size)) {
    throw fault('pax-record', 'the size in a pax header is not a whole number');
  }
  return size;
}

function malformed(): ArchiveFault {
  return fault('pax-record', 'a record of a pax header is not "length key=value"');
}

function fault(rule: ArchiveFault['rule'], detail: string): ArchiveFault {
  return new ArchiveFault(rule, null, detail);
}
