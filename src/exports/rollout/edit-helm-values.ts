import { isDeepStrictEqual } from 'node:util';
import { isAlias, isMap, isScalar } from 'yaml';
import {
  findPair,
  parseHelmValues,
  staticExport,
  type ValuesDocument,
  type ValuesMap,
  ValuesRefused,
} from './helm-values-document.ts';
import { addEntries, appendEntries, fillEmptyEntry, setScalar } from './helm-values-splices.ts';
import { applySplices, type Splice } from './splice.ts';

/** What the values file should say besides `enabled: true`. */
export interface ExportInService {
  bundleUrl: string;
  version: string;
}

const exportFields = ['enabled', 'bundleUrl', 'version'] as const;
export type ExportField = (typeof exportFields)[number];

/**
 * Sets `staticExport.enabled`, `bundleUrl` and `version` of a values file and leaves every other byte as it is
 * (contracts.md "Helm values"): values are replaced in place; missing keys go after the last key of their mapping, in its
 * style and indentation. The result is parsed again and compared with the text before. Throws `ValuesRefused` where that
 * cannot be done safely.
 */
export function editHelmValues(text: string, wanted: ExportInService): { text: string; changed: ExportField[] } {
  const before = parseHelmValues(text);
  const found = exportMapping(before);
  const changed = exportFields.filter((field) => !isRight(found, field, wanted));
  if (changed.length === 0) return { text, changed };
  const edited = applySplices(text, splicesFor(before, found, changed, wanted));
  checkEdited(before, edited, wanted);
  return { text: edited, changed };
}

/**
 * The version that the file puts into service, with its address; null when there is none or it is disabled.
 * Throws `ValuesRefused`.
 */
export function readHelmValues(text: string): ExportInService | null {
  return inService(parseHelmValues(text));
}

function inService({ values }: ValuesDocument): ExportInService | null {
  const fields = values.get(staticExport);
  if (!(fields instanceof Map) || fields.get('enabled') !== true) return null;
  const [bundleUrl, version]: unknown[] = [fields.get('bundleUrl'), fields.get('version')];
  return typeof bundleUrl === 'string' && typeof version === 'string' ? { bundleUrl, version } : null;
}

/** The mapping to edit; null when it is missing or empty. */
function exportMapping({ root }: ValuesDocument): ValuesMap | null {
  const value = root && findPair(root, staticExport)?.value;
  if (!value || (isScalar(value) && value.value === null)) return null;
  if (isMap(value)) return value;
  const what = isAlias(value) ? 'is an alias' : 'is not a mapping';
  throw new ValuesRefused('not-editable', `${staticExport} ${what}: write it as a mapping of its own`);
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
  before: ValuesDocument,
  found: ValuesMap | null,
  changed: readonly ExportField[],
  wanted: ExportInService,
): Splice[] {
  const { root, text } = before;
  const scalars = {
    enabled: 'true',
    bundleUrl: JSON.stringify(wanted.bundleUrl),
    version: JSON.stringify(wanted.version),
  };
  const entryOf = (field: ExportField) => ({ key: field, value: scalars[field] });
  if (found) {
    const missing = changed.filter((field) => !findPair(found, field));
    const present = changed.flatMap((field) => {
      const pair = findPair(found, field);
      return pair ? [{ pair, field }] : [];
    });
    return [
      ...present.flatMap(({ pair, field }) => {
        const plain = field === 'bundleUrl' ? wanted.bundleUrl : null;
        return setScalar(pair, `${staticExport}.${field}`, scalars[field], plain);
      }),
      ...addEntries(text, found, missing.map(entryOf)),
    ];
  }
  const mapping = exportFields.map(entryOf);
  const pair = root && findPair(root, staticExport);
  if (root && pair) return fillEmptyEntry(text, root, pair, mapping);
  const entries = [{ key: staticExport, value: mapping }];
  return root ? addEntries(text, root, entries) : appendEntries(before, entries);
}

/** Throws unless the three fields are as wanted and every other value is as before. */
function checkEdited(before: ValuesDocument, text: string, wanted: ExportInService): void {
  const after = parseEdited(text);
  const done = exportFields.every((field) => isRight(exportMapping(after), field, wanted));
  if (!done || !isDeepStrictEqual(inService(after), wanted)) {
    throw new ValuesRefused('not-editable', `${staticExport} is written in a way that cannot be edited safely`);
  }
  if (!isDeepStrictEqual(others(before), others(after))) {
    throw new ValuesRefused('shared-by-alias', `${staticExport} shares values with other keys by an anchor or alias`);
  }
}

function parseEdited(text: string): ValuesDocument {
  try {
    return parseHelmValues(text);
  } catch (error) {
    if (!(error instanceof ValuesRefused)) throw error;
    throw new ValuesRefused('not-editable', `${staticExport} is written in a way that cannot be edited safely`);
  }
}

/** All values except the three fields. */
function others({ values }: ValuesDocument): Map<unknown, unknown> {
  const mapping = values.get(staticExport);
  const rest = new Map<unknown, unknown>(mapping instanceof Map ? mapping : []);
  for (const field of exportFields) rest.delete(field);
  return new Map<unknown, unknown>(values).set(staticExport, rest);
}
