import { type CST, isCollection, isMap } from 'yaml';
import { type ValuesDocument, type ValuesMap, type ValuesPair, ValuesRefused } from './values-documents.ts';

/** Replaces the characters from `from` up to, not including, `to`. */
export interface Splice {
  from: number;
  to: number;
  text: string;
}

/** Applies all splices to one text; they must not overlap. Splices at the same offset keep their order. */
export function applySplices(text: string, splices: readonly Splice[]): string {
  let result = '';
  let at = 0;
  for (const splice of [...splices].sort((a, b) => a.from - b.from)) {
    if (splice.from < at) throw new RangeError('splices overlap');
    result += text.slice(at, splice.from) + splice.text;
    at = splice.to;
  }
  return result + text.slice(at);
}

/** An entry to write: a scalar as YAML text, or a mapping of entries. */
export interface NewEntry {
  key: string;
  value: string | NewEntry[];
}

const defaultIndent = 2;
/** Addresses that mean the same without quotes, even between braces. */
const plainAddress = /^https?:\/\/[A-Za-z0-9][A-Za-z0-9._~:/@%+-]*[A-Za-z0-9]$/;

/**
 * Replaces the value of an entry by `quoted`. An unquoted or single-quoted value keeps its style if `plain`, the same
 * value without quotes, permits. Comments, anchors and line ends stay.
 */
export function setScalar(pair: ValuesPair, path: string, quoted: string, plain: string | null): Splice[] {
  if (isCollection(pair.value)) throw new ValuesRefused('not-editable', `${path} is a mapping or a list`);
  const token = pair.value?.srcToken;
  if (token?.type === 'block-scalar') {
    const [header] = token.props;
    if (header?.type !== 'block-scalar-header') throw new RangeError('a block scalar without a header');
    const body = token.props.reduce((end, token) => end + lengthOf(token), token.offset);
    return [replace(token.offset, header.source, quoted), replace(body, token.source, '')];
  }
  if (!token || !('source' in token) || token.source === '') return [insertValue(pair, quoted)];
  return [replace(token.offset, token.source, inStyleOf(token.type, quoted, plain))];
}

/** Adds entries after the last one of a mapping, in its style. */
export function addEntries(text: string, map: ValuesMap, entries: readonly NewEntry[]): Splice[] {
  if (entries.length === 0) return [];
  const token = map.srcToken;
  if (token?.type === 'block-map') {
    const lines = blockLines(entries, token.indent, stepOf(map));
    return [insertLines(text, endOfEntries(text, map, token), lines)];
  }
  if (token?.type !== 'flow-collection') throw new ValuesRefused('not-editable', 'has a mapping of an unknown style');
  const last = map.items.at(-1);
  const written = entries.map((entry) => flowEntry(entry, isQuoted(map.items[0]))).join(', ');
  if (!last) return [insert(token.start.offset + 1, ` ${written}${text[token.start.offset + 1] === '}' ? ' ' : ''}`)];
  return [insert(endOf(last), `, ${written}`)];
}

/** Gives an empty entry (`key:`, `key: null`, `key: ~`) the mapping as its value. */
export function fillEmptyEntry(text: string, map: ValuesMap, pair: ValuesPair, mapping: readonly NewEntry[]): Splice[] {
  const token = pair.value?.srcToken;
  const outer = map.srcToken;
  const inFlow = `{ ${mapping.map((entry) => flowEntry(entry, isQuoted(pair))).join(', ')} }`;
  if (token && 'source' in token && token.source !== '') return [replace(token.offset, token.source, inFlow)];
  if (outer?.type !== 'block-map') return [insertValue(pair, inFlow)];
  const lines = blockLines(mapping, outer.indent + stepOf(map), defaultIndent);
  return [insertLines(text, startOfNextLine(text, endOfIndicator(pair)), lines)];
}

/** Adds entries to a file without any. */
export function appendEntries(
  { text, end }: Pick<ValuesDocument, 'text' | 'end'>,
  entries: readonly NewEntry[],
): Splice[] {
  return [insertLines(text, end, blockLines(entries, 0, defaultIndent))];
}

function replace(from: number, old: string, text: string): Splice {
  return { from, to: from + old.length, text };
}

function insert(at: number, text: string): Splice {
  return { from: at, to: at, text };
}

function inStyleOf(type: CST.Token['type'], quoted: string, plain: string | null): string {
  if (plain === null || !plainAddress.test(plain)) return quoted;
  if (type === 'scalar') return plain;
  return type === 'single-quoted-scalar' ? `'${plain}'` : quoted;
}

function insertValue(pair: ValuesPair, value: string): Splice {
  const hasColon = pair.srcToken?.sep?.some(({ type }) => type === 'map-value-ind') ?? false;
  return insert(endOfIndicator(pair), hasColon ? ` ${value}` : `: ${value}`);
}

/** Where the value of an entry without one would follow: after its colon, tag and anchor, else after its key. */
function endOfIndicator(pair: ValuesPair): number {
  const parts = pair.srcToken?.sep?.filter(({ type }) => ['map-value-ind', 'tag', 'anchor'].includes(type)) ?? [];
  const last = parts.at(-1);
  return last ? last.offset + last.source.length : pair.key.range[1];
}

function endOf(pair: ValuesPair): number {
  return pair.value?.range[1] ?? endOfIndicator(pair);
}

/** The offset after a block mapping's last entry and the deeper-indented comments that follow it. */
function endOfEntries(text: string, map: ValuesMap, token: CST.BlockMap): number {
  const last = map.items.at(-1);
  if (!last) throw new ValuesRefused('not-editable', 'has a mapping without entries');
  const end = endOf(last);
  if (end === text.length && !text.endsWith('\n') && endsInBlockScalar(token)) {
    // The missing line end is significant in that value; a line below would change it.
    throw new ValuesRefused('not-editable', 'ends inside of a block scalar: end its last line with a line break');
  }
  // Nested block collections and block scalars end after their last line, all other values within it.
  let at = text[end - 1] === '\n' ? end : startOfNextLine(text, end);
  const comment = /( *)#.*(\r?\n|$)/y;
  for (;;) {
    comment.lastIndex = at;
    const [line, indent = ''] = comment.exec(text) ?? [];
    if (line === undefined || indent.length <= token.indent) return at;
    at += line.length;
  }
}

function endsInBlockScalar(token: CST.Token | null | undefined): boolean {
  if (token?.type !== 'block-map' && token?.type !== 'block-seq') return token?.type === 'block-scalar';
  return endsInBlockScalar(token.items.at(-1)?.value);
}

function startOfNextLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

/** Inserts lines at the start of a line, or after a last line without a line end, which stays so. */
function insertLines(text: string, at: number, lines: readonly string[]): Splice {
  const eol = lineEndAt(text, at);
  const before = text.slice(0, at).replace(/^\uFEFF/, '');
  const joined = lines.join(eol);
  return insert(at, before === '' || before.endsWith('\n') ? `${joined}${eol}` : `${eol}${joined}`);
}

/** The line end used just before, else the first of the file. */
function lineEndAt(text: string, at: number): string {
  const before = at === 0 ? -1 : text.lastIndexOf('\n', at - 1);
  const found = before === -1 ? text.indexOf('\n') : before;
  return found > 0 && text[found - 1] === '\r' ? '\r\n' : '\n';
}

function blockLines(entries: readonly NewEntry[], indent: number, step: number): string[] {
  const pad = ' '.repeat(indent);
  return entries.flatMap(({ key, value }) =>
    typeof value === 'string'
      ? [`${pad}${key}: ${value}`]
      : [`${pad}${key}:`, ...blockLines(value, indent + step, step)],
  );
}

function flowEntry({ key, value }: NewEntry, quotedKeys: boolean): string {
  const name = quotedKeys ? JSON.stringify(key) : key;
  if (typeof value === 'string') return `${name}: ${value}`;
  return `${name}: { ${value.map((entry) => flowEntry(entry, quotedKeys)).join(', ')} }`;
}

/** Whether keys are quoted as in JSON. */
function isQuoted(pair: ValuesPair | undefined): boolean {
  return pair?.srcToken?.key?.type === 'double-quoted-scalar';
}

/** Spaces by which a mapping's own mappings are indented. */
function stepOf(map: ValuesMap): number {
  const own = map.srcToken;
  for (const { value } of map.items) {
    const nested = isMap(value) ? value.srcToken : undefined;
    if (nested?.type === 'block-map' && own?.type === 'block-map') return nested.indent - own.indent;
  }
  return defaultIndent;
}

function lengthOf(token: CST.Token): number {
  return 'source' in token ? token.source.length : 0;
}
