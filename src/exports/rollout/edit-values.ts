import { isDeepStrictEqual } from 'node:util';
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  LineCounter,
  type ParsedNode,
  Parser,
  type YAMLMap,
} from 'yaml';

/** A values file that cannot be edited safely; the message says where and why, and quotes no value of the file. */
export class ValuesRefused extends Error {
  override readonly name = 'ValuesRefused';
}

type ValuesMap = YAMLMap<ParsedNode, ParsedNode | null>;
type ValuesPair = ValuesMap['items'][number];

/** A document of a values file with its concrete syntax: nodes know their tokens, and tokens their offset in the text. */
interface ValuesDocument {
  text: string;
  root: ValuesMap | null;
  /** Where the content of a file with one document ends: the end of the file, or the marker `...`. */
  end: number;
  /** Plain values, aliases and merge keys resolved; mappings as `Map`. */
  values: ReadonlyMap<unknown, unknown>;
}

/** Far more than values files have; stops alias bombs. */
const maxAliases = 10_000;

/** The documents with content, or the only one. Throws `ValuesRefused`. */
export function parseValues(text: string): ValuesDocument[] {
  if (/\r(?!\n)/.test(text)) throw new ValuesRefused('has line ends that are neither LF nor CRLF');
  const lines = new LineCounter();
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const documents = [...new Composer({ keepSourceTokens: true, merge: true }).compose(tokens)];
  for (const { code, pos } of documents.flatMap(({ errors }) => errors)) {
    const line = `line ${lines.linePos(pos[0]).line}`;
    if (code === 'DUPLICATE_KEY') throw new ValuesRefused(`${line}: a key is listed twice`);
    throw new ValuesRefused(`${line}: is not valid YAML (${code})`);
  }
  const end = tokens.find(({ type }) => type === 'doc-end')?.offset ?? text.length;
  const found = documents.map((document): ValuesDocument => {
    const root = rootOf(document);
    return { text, root, end, values: root ? valuesOf(document) : new Map() };
  });
  const filled = found.filter(({ root }) => root !== null);
  if (filled.length > 0) return filled;
  return [found[0] ?? { text, root: null, end, values: new Map() }];
}

/** The entry of a mapping with this key, however it is quoted. */
function findPair(map: ValuesMap, key: string): ValuesPair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
}

function rootOf(document: Document.Parsed): ValuesMap | null {
  const { contents } = document;
  if (isMap(contents)) return contents;
  const empty = isScalar(contents) && contents.value === null && !sourceOf(contents);
  if (contents === null || empty) return null;
  throw new ValuesRefused('does not contain a mapping');
}

function sourceOf({ srcToken }: ParsedNode): string {
  return srcToken && 'source' in srcToken ? srcToken.source : '';
}

function valuesOf(document: Document.Parsed): Map<unknown, unknown> {
  try {
    const values: unknown = document.toJS({ mapAsMap: true, maxAliasCount: maxAliases });
    if (values instanceof Map) return values;
  } catch {
    // The reason is named below.
  }
  throw new ValuesRefused('has too many or unknown aliases');
}

/** Replaces the characters from `from` up to, not including, `to`. */
interface Splice {
  from: number;
  to: number;
  text: string;
}

/** Applies all splices to one text; they must not overlap. Splices at the same offset keep their order. */
function applySplices(text: string, splices: readonly Splice[]): string {
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
interface NewEntry {
  key: string;
  value: string | NewEntry[];
}

const defaultIndent = 2;
/** Addresses that mean the same without quotes, even between braces. */
const plainAddress = /^https?:\/\/[A-Za-z0-9][A-Za-z0-9._~:/@%+-]*[A-Za-z0-9]$/;

/** Replaces a value; an unquoted or single-quoted one keeps its style if `plain`, the same unquoted, permits. */
function setScalar(pair: ValuesPair, path: string, quoted: string, plain: string | null): Splice[] {
  if (isCollection(pair.value)) throw new ValuesRefused(`${path} is a mapping or a list`);
  const token = pair.value?.srcToken;
  if (token?.type === 'block-scalar') {
    const [header] = token.props;
    if (header?.type !== 'block-scalar-header') throw new RangeError('a block scalar without a header');
    const body = token.props.reduce((end, prop) => end + ('source' in prop ? prop.source.length : 0), token.offset);
    return [replace(token.offset, header.source, quoted), replace(body, token.source, '')];
  }
  if (!token || !('source' in token) || token.source === '') return [insertValue(pair, quoted)];
  return [replace(token.offset, token.source, inStyleOf(token.type, quoted, plain))];
}

/** Adds entries after the last one of a mapping, in its style. */
function addEntries(text: string, map: ValuesMap, entries: readonly NewEntry[]): Splice[] {
  if (entries.length === 0) return [];
  const token = map.srcToken;
  if (token?.type === 'block-map') {
    const lines = blockLines(entries, token.indent, stepOf(map));
    return [insertLines(text, endOfEntries(text, map, token), lines)];
  }
  if (token?.type !== 'flow-collection') throw new ValuesRefused('has a mapping of an unknown style');
  const last = map.items.at(-1);
  const written = entries.map((entry) => flowEntry(entry, isQuoted(map.items[0]))).join(', ');
  if (!last) return [insert(token.start.offset + 1, ` ${written}${text[token.start.offset + 1] === '}' ? ' ' : ''}`)];
  return [insert(endOf(last), `, ${written}`)];
}

/** Gives an empty entry (`key:`, `key: null`, `key: ~`) the mapping as its value. */
function fillEmptyEntry(text: string, map: ValuesMap, pair: ValuesPair, mapping: readonly NewEntry[]): Splice[] {
  const token = pair.value?.srcToken;
  const outer = map.srcToken;
  const inFlow = `{ ${mapping.map((entry) => flowEntry(entry, isQuoted(pair))).join(', ')} }`;
  if (token && 'source' in token && token.source !== '') return [replace(token.offset, token.source, inFlow)];
  if (outer?.type !== 'block-map') return [insertValue(pair, inFlow)];
  const lines = blockLines(mapping, outer.indent + stepOf(map), defaultIndent);
  return [insertLines(text, startOfNextLine(text, endOfIndicator(pair)), lines)];
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
  if (!last) throw new ValuesRefused('has a mapping without entries');
  const end = endOf(last);
  if (end === text.length && !text.endsWith('\n') && endsInBlockScalar(token)) {
    // The missing line end is significant in that value; a line below would change it.
    throw new ValuesRefused('ends inside of a block scalar: end its last line with a line break');
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

/** What the values file should say besides `enabled: true`. */
interface ExportInService {
  bundleUrl: string;
  version: string;
}

const exportFields = ['enabled', 'bundleUrl', 'version'] as const;
type ExportField = (typeof exportFields)[number];

/** Where the mapping of the three fields is, or would be. */
interface ValuesPlace {
  document: ValuesDocument;
  fields: ValuesMap | null;
  /** The innermost mapping on the way to it; null in an empty document. */
  within: ValuesMap | null;
  /** An entry of `within` without a value, which is to get the rest of the way. */
  empty: ValuesPair | null;
  /** The keys from there on, the last one that of the three fields. */
  missing: string[];
}

/**
 * Sets `enabled`, `bundleUrl` and `version` of the mapping that `key` names, keys with dots between them, and leaves every
 * other byte as it is (contracts.md "Helm values"): values are replaced in place; missing keys go after the last key of
 * their mapping, in its style and indentation. The result is parsed again and compared with the text before. Throws
 * `ValuesRefused` where that cannot be done safely.
 */
export function editHelmValues(
  text: string,
  key: string,
  wanted: ExportInService,
): { text: string; changed: ExportField[] } {
  const place = placeOf(parseValues(text), key);
  const changed = exportFields.filter((field) => !isRight(place.fields, field, wanted));
  if (changed.length === 0) return { text, changed };
  const edited = applySplices(text, splicesFor(place, key, changed, wanted));
  checkEdited(text, edited, key, wanted);
  return { text: edited, changed };
}

/** What the file puts into service; null when there is none or it is disabled. Throws `ValuesRefused`. */
export function readHelmValues(text: string, key: string): ExportInService | null {
  return inService(placeOf(parseValues(text), key).document, key);
}

function inService({ values }: ValuesDocument, key: string): ExportInService | null {
  const fields = key
    .split('.')
    .reduce<unknown>((value, name) => (value instanceof Map ? value.get(name) : undefined), values);
  if (!(fields instanceof Map) || fields.get('enabled') !== true) return null;
  const [bundleUrl, version]: unknown[] = [fields.get('bundleUrl'), fields.get('version')];
  return typeof bundleUrl === 'string' && typeof version === 'string' ? { bundleUrl, version } : null;
}

/** The place in the only document that has the key, or in the only document. */
function placeOf(documents: readonly ValuesDocument[], key: string): ValuesPlace {
  const [only, ...others] = documents.map((document) => () => way(document, key));
  if (only && others.length === 0) return only();
  const having = documents.filter(({ values }) => hasKey(values, key));
  const [document] = having;
  if (document && having.length === 1) return way(document, key);
  const problem = document ? `${key} is in ${having.length} of them` : `none of them has ${key}: add it, empty, to one`;
  throw new ValuesRefused(`contains several documents, and ${problem}`);
}

function hasKey(values: unknown, key: string): boolean {
  let inner = values;
  for (const name of key.split('.')) {
    if (!(inner instanceof Map) || !inner.has(name)) return false;
    inner = inner.get(name);
  }
  return true;
}

function way(document: ValuesDocument, key: string): ValuesPlace {
  const keys = key.split('.');
  let within = document.root;
  for (const [index, name] of keys.entries()) {
    const missing = keys.slice(index);
    const pair = within && findPair(within, name);
    if (!within || !pair) return { document, fields: null, within, empty: null, missing };
    const { value } = pair;
    if (!value || (isScalar(value) && value.value === null)) {
      return { document, fields: null, within, empty: pair, missing: missing.slice(1) };
    }
    if (!isMap(value)) {
      const what = isAlias(value) ? 'is an alias' : 'is not a mapping';
      const path = keys.slice(0, index + 1).join('.');
      throw new ValuesRefused(`${path} ${what}: write it as a mapping of its own`);
    }
    within = value as ValuesMap;
  }
  return { document, fields: within, within, empty: null, missing: [] };
}

/** A value that is right already is not written, so that no commit undoes another. */
function isRight(found: ValuesMap | null, field: ExportField, wanted: ExportInService): boolean {
  const value = found && findPair(found, field)?.value;
  if (!isScalar(value)) return false;
  if (field === 'enabled') return value.value === true;
  // Unquoted, a version may be read as a number, here or by the next YAML library.
  return value.value === wanted[field] && (field === 'bundleUrl' || value.type !== 'PLAIN');
}

function splicesFor(
  { document, fields, within, empty, missing }: ValuesPlace,
  key: string,
  changed: readonly ExportField[],
  wanted: ExportInService,
): Splice[] {
  const { text } = document;
  const scalars = {
    enabled: 'true',
    bundleUrl: JSON.stringify(wanted.bundleUrl),
    version: JSON.stringify(wanted.version),
  };
  const entryOf = (field: ExportField): NewEntry => ({ key: field, value: scalars[field] });
  if (fields) {
    const absent = changed.filter((field) => !findPair(fields, field));
    const present = changed.flatMap((field) => {
      const pair = findPair(fields, field);
      return pair ? [{ pair, field }] : [];
    });
    return [
      ...present.flatMap(({ pair, field }) => {
        const plain = field === 'bundleUrl' ? wanted.bundleUrl : null;
        return setScalar(pair, `${key}.${field}`, scalars[field], plain);
      }),
      ...addEntries(text, fields, absent.map(entryOf)),
    ];
  }
  const entries = missing.reduceRight<NewEntry[]>((value, name) => [{ key: name, value }], exportFields.map(entryOf));
  if (within && empty) return fillEmptyEntry(text, within, empty, entries);
  return within
    ? addEntries(text, within, entries)
    : [insertLines(text, document.end, blockLines(entries, 0, defaultIndent))];
}

/** Throws unless the three fields are as wanted and every other value is as before. */
function checkEdited(before: string, text: string, key: string, wanted: ExportInService): void {
  const unsafe = new ValuesRefused(`${key} is written in a way that cannot be edited safely`);
  let after: ValuesDocument[];
  try {
    after = parseValues(text);
    const { document, fields } = placeOf(after, key);
    const done = exportFields.every((field) => isRight(fields, field, wanted));
    if (!done || !isDeepStrictEqual(inService(document, key), wanted)) throw unsafe;
  } catch (error) {
    throw error instanceof ValuesRefused ? unsafe : error;
  }
  const was = parseValues(before);
  const isSame =
    was.length === after.length && was.every((document, index) => isDeepStrictEqual(...others(document, after[index])));
  if (isSame) return;
  throw new ValuesRefused(`${key} shares values with other keys by an anchor or alias`);

  function others(...documents: (ValuesDocument | undefined)[]): [unknown, unknown] {
    const [one, other] = documents.map((document) => withoutFields(document?.values, key.split('.')));
    return [one, other];
  }
}

function withoutFields(values: unknown, [name, ...rest]: readonly string[]): Map<unknown, unknown> {
  const copy = new Map<unknown, unknown>(values instanceof Map ? values : []);
  if (name === undefined) for (const field of exportFields) copy.delete(field);
  else copy.set(name, withoutFields(copy.get(name), rest));
  return copy;
}
