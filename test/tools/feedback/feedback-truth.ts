import { join } from 'node:path';
import { Database } from '../../../src/sqlite.ts';
import type { ActivityScene } from '../activity-dependencies.ts';

type Fields = Record<string, unknown>;

/** What the store holds against what the service has, counted; all but `entries` are 0 when both are the same. */
export interface Differences {
  /** Entries of the service that can be understood. */
  entries: number;
  missing: number;
  /** Entries with a field that differs. */
  different: number;
  /** Live rows the service does not have. */
  surplus: number;
  /** Entries that cannot be understood and are not among the rejects. */
  unrejected: number;
}

const known = [
  'id',
  'path',
  'comment',
  'createdAt',
  'source',
  'status',
  'helpful',
  'contact',
  'code',
  'filename',
  'lang',
];

/** What a store holds of a project, read past docferry's code. */
interface Held {
  entries: readonly Fields[];
  rejects: readonly Fields[];
}

/** Compares the store with the sandbox's truth, field by field, past both their code (S1). */
export function compareWithTruth({ folder, sandbox }: Pick<ActivityScene, 'folder' | 'sandbox'>, project = 'prj_1') {
  const db = new Database(join(folder, 'feedback.db'), { readOnly: true });
  try {
    const rowsOf = (table: string) => db.prepare<Fields>(`select * from ${table} where project_id = ?`).all(project);
    return differences(sandbox, project, { entries: rowsOf('feedback'), rejects: rowsOf('feedback_rejects') });
  } finally {
    db.close();
  }
}

/** The same with what was read from any store. */
export function differences(sandbox: ActivityScene['sandbox'], project: string, held: Held): Differences {
  const rows = new Map(held.entries.map((row) => [row.id, row]));
  const rejected = new Set(held.rejects.map(({ raw }) => raw));
  const found: Differences = { entries: 0, missing: 0, different: 0, surplus: 0, unrejected: 0 };
  const ids = new Set<unknown>();
  for (const entry of sandbox.truth(project)) {
    if (!isUnderstandable(entry)) {
      if (!rejected.has(clean(JSON.stringify(entry)))) found.unrejected += 1;
      continue;
    }
    found.entries += 1;
    ids.add(entry.id);
    const row = rows.get(entry.id);
    if (row === undefined || row.deleted_at !== null) found.missing += 1;
    else if (!isSame(entry, row)) found.different += 1;
  }
  found.surplus = held.entries.filter((row) => row.deleted_at === null && !ids.has(row.id)).length;
  return found;
}

function isUnderstandable(entry: unknown): entry is Fields {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return false;
  const { id, path, comment, createdAt, source, status } = entry as Fields;
  const textOrNull = [comment, createdAt].every((value) => value === null || typeof value === 'string');
  return [id, path, source, status].every((value) => typeof value === 'string') && textOrNull;
}

function isSame(entry: Fields, row: Fields): boolean {
  const expected: Fields = {
    path: text(entry.path),
    comment: text(entry.comment),
    created_at: text(entry.createdAt),
    source: text(entry.source),
    status: text(entry.status),
    helpful: typeof entry.helpful === 'boolean' ? Number(entry.helpful) : null,
    contact: text(entry.contact),
    code: text(entry.code),
    filename: text(entry.filename),
    lang: text(entry.lang),
  };
  if (Object.entries(expected).some(([column, value]) => row[column] !== value)) return false;
  const extra = Object.entries(entry).filter(([name]) => !known.includes(name));
  const stored = typeof row.extra === 'string' ? Object.entries(JSON.parse(row.extra) as Fields) : [];
  const sorted = (fields: [string, unknown][]) =>
    JSON.stringify(
      fields.sort(([a], [b]) => (a < b ? -1 : 1)),
      sortKeys,
    );
  return sorted(extra) === sorted(stored);
}

function sortKeys(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? clean(value) : null;
}

/** As databases can hold it (contracts.md). */
function clean(value: string): string {
  return value.toWellFormed().replaceAll('\u0000', '\uFFFD');
}
