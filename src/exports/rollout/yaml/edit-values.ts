import { isDeepStrictEqual } from 'node:util';
import { isAlias, isMap, isScalar } from 'yaml';
import {
  addEntries,
  appendEntries,
  applySplices,
  fillEmptyEntry,
  type NewEntry,
  type Splice,
  setScalar,
} from './splices.ts';
import {
  findPair,
  parseValues,
  type ValuesDocument,
  type ValuesMap,
  type ValuesPair,
  ValuesRefused,
} from './values-documents.ts';

/** What the values file should say besides `enabled: true`. */
interface ExportInService {
  bundleUrl: string;
  version: string;
}

const exportFields = ['enabled', 'bundleUrl', 'version'] as const;
type ExportField = (typeof exportFields)[number];

/** Where the mapping of the three fields is, or would be. */
interface Place {
  document: ValuesDocument;
  /** Null when it is missing or empty. */
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

/**
 * The version that the file puts into service, with its address; null when there is none or it is disabled.
 * Throws `ValuesRefused`.
 */
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
function placeOf(documents: readonly ValuesDocument[], key: string): Place {
  const [only, ...others] = documents.map((document) => () => way(document, key));
  if (only && others.length === 0) return only();
  const having = documents.filter(({ values }) => hasKey(values, key));
  const [document] = having;
  if (document && having.length === 1) return way(document, key);
  const problem = document ? `${key} is in ${having.length} of them` : `none of them has ${key}: add it, empty, to one`;
  throw new ValuesRefused('several-documents', `contains several documents, and ${problem}`);
}

function hasKey(values: unknown, key: string): boolean {
  let inner = values;
  for (const name of key.split('.')) {
    if (!(inner instanceof Map) || !inner.has(name)) return false;
    inner = inner.get(name);
  }
  return true;
}

function way(document: ValuesDocument, key: string): Place {
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
      throw new ValuesRefused('not-editable', `${path} ${what}: write it as a mapping of its own`);
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
  { document, fields, within, empty, missing }: Place,
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
  return within ? addEntries(text, within, entries) : appendEntries(document, entries);
}

/** Throws unless the three fields are as wanted and every other value is as before. */
function checkEdited(before: string, text: string, key: string, wanted: ExportInService): void {
  const unsafe = new ValuesRefused('not-editable', `${key} is written in a way that cannot be edited safely`);
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
  throw new ValuesRefused('shared-by-alias', `${key} shares values with other keys by an anchor or alias`);

  function others(...documents: (ValuesDocument | undefined)[]): [unknown, unknown] {
    const [one, other] = documents.map((document) => withoutFields(document?.values, key.split('.')));
    return [one, other];
  }
}

/** All values except the three fields. */
function withoutFields(values: unknown, [name, ...rest]: readonly string[]): Map<unknown, unknown> {
  const copy = new Map<unknown, unknown>(values instanceof Map ? values : []);
  if (name === undefined) for (const field of exportFields) copy.delete(field);
  else copy.set(name, withoutFields(copy.get(name), rest));
  return copy;
}
