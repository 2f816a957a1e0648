import { createRandom, pick, type Random, seedOf } from '../random.ts';
import type { Settings } from '../settings.ts';

export const knownSources = ['code_snippet', 'contextual', 'agent', 'thumbs_only'] as const;
export const knownStatuses = ['pending', 'in_progress', 'resolved', 'dismissed'] as const;

/** Personal data and code in every generated entry carry one of these, so that tests can search for leaks. */
export const plantedMarkers = ['PLANTED-COMMENT', 'planted-contact-', 'PLANTED-CODE'] as const;

/** The stored part of an entry; the rest is generated from seed and number whenever it is served. */
export interface FeedbackRecord {
  seq: number;
  /** Milliseconds since the epoch, whole; null: without createdAt. */
  at: number | null;
  source: string;
  status: string;
  /** Values that replace generated ones. */
  fields?: Readonly<Record<string, unknown>>;
  /** Served instead of an entry, whatever it is. */
  raw?: unknown;
}

type DataSettings = Pick<Settings, 'drift' | 'rejects' | 'oddText' | 'nullDates' | 'oddDates'>;

const longTextCharacters = 100_000;
/** Entries whose number has this remainder have a long text. */
const longTextEvery = 997;
const longTextRest = 7;

const paths = [
  '/',
  '/getting-started',
  '/guides/page-3',
  '/reference/api/page-7',
  '/sprachen/grüße',
  '/ガイド/はじめに',
  'https://docs.acme.example/guides/page-3?tab=node#install',
  'https://docs.acme.example/reference/%E2%9C%93',
] as const;

const comments = [
  'The second example fails with a 404.',
  'Very helpful 👍🏽, thank you! 👩‍💻🎉',
  'Beispiel für Umlaute: äöüß – fehlt noch.',
  'ページが見つかりません。設定の例が欲しいです。',
  'مثال مفيد جدًا، شكرًا',
  'Quotes "double", \'single\', back\\slash, <b>tag</b>, comma, semicolon;\r\nsecond line\tafter a tab',
  '=HYPERLINK("https://sheet.example","cell that looks like a formula")',
  'e\u0301 decomposed, é composed, zero\u200bwidth, \u202eright to left\u202c',
] as const;

const code = [
  'curl -H "Authorization: Bearer $KEY" https://api.example/v1',
  "const client = new Client({ key: process.env['KEY'] });\nawait client.run();",
  'SELECT * FROM "pages" WHERE title LIKE \'%ß%\';',
  'print("héllo 🌍")\n\tindented = True\n',
] as const;

const rejectShapes = 6;

/** Random source and status of entry `seq`. */
export function rollRecord(
  projectSeed: number,
  seq: number,
  at: number | null,
  openShare: number,
  settings: DataSettings,
): FeedbackRecord {
  const random = createRandom(seedOf(projectSeed, seq, 'record'));
  const undated = random() < settings.nullDates;
  const drifts = isDrifting(projectSeed, seq, settings);
  const open = random() < openShare;
  const source: string = pick(random, knownSources);
  const status = open ? pick(random, ['pending', 'in_progress']) : pick(random, ['resolved', 'dismissed']);
  return {
    seq,
    at: undated ? null : at,
    source: drifts && random() < 0.5 ? 'voice_note' : source,
    status: drifts && random() < 0.5 ? 'snoozed' : status,
  };
}

/** Id of an entry, stable for a project's seed and a number, different between projects. */
export function idOf(projectSeed: number, seq: number): string {
  const tail = seedOf(projectSeed, seq, 'id').toString(16).padStart(8, '0');
  return `fb_${seq.toString(36).padStart(6, '0')}${tail}`;
}

/** The number in an id made by `idOf`; null for others. */
export function seqOf(projectSeed: number, id: string): number | null {
  const seq = Number.parseInt(id.slice(3, -8), 36);
  return Number.isSafeInteger(seq) && idOf(projectSeed, seq) === id ? seq : null;
}

/** The entry as it is served (service-interface.md, Feedback entry), or what replaces it. */
export function entryOf(projectSeed: number, record: FeedbackRecord, settings: DataSettings): unknown {
  if ('raw' in record) return record.raw;
  const random = createRandom(seedOf(projectSeed, record.seq, 'body'));
  const entry: Record<string, unknown> = {
    id: idOf(projectSeed, record.seq),
    path: pick(random, paths),
    comment: commentOf(random, projectSeed, record.seq, settings),
    createdAt: record.at === null ? null : dateOf(projectSeed, record.seq, record.at, settings),
    source: record.source,
    status: record.status,
    ...variantOf(random, record),
    ...(isDrifting(projectSeed, record.seq, settings) ? unknownFields(random) : {}),
    ...record.fields,
  };
  if (!isRejected(projectSeed, record.seq, settings)) return entry;
  return spoil(entry, record.seq % rejectShapes);
}

/** `createdAt` as ISO 8601 in UTC, or one of the forms the interface leaves open. */
function dateOf(projectSeed: number, seq: number, at: number, { oddDates }: DataSettings): string {
  const date = new Date(at);
  const odd = createRandom(seedOf(projectSeed, seq, 'date'));
  if (oddDates === 0 || odd() >= oddDates) return date.toISOString();
  const inIndia = new Date(at + 19_800_000).toISOString().replace('Z', '+05:30');
  return pick(odd, [inIndia, String(at), String(Math.floor(at / 1_000)), date.toUTCString(), `on day ${seq % 31}`]);
}

function variantOf(random: Random, { source, seq }: FeedbackRecord): Record<string, unknown> {
  if (source === 'contextual') {
    return {
      helpful: random() < 0.6,
      contact: random() < 0.5 ? null : `planted-contact-${seq}@secret.example`,
    };
  }
  if (source === 'code_snippet') {
    return {
      code: `// PLANTED-CODE-${seq}\n${pick(random, code)}`,
      filename: pick(random, ['client.ts', 'main.py', 'query.sql', null]),
      lang: pick(random, ['typescript', 'python', 'sql', null]),
    };
  }
  return {};
}

function commentOf(random: Random, projectSeed: number, seq: number, settings: DataSettings): string | null {
  const text = pick(random, comments);
  const odd = createRandom(seedOf(projectSeed, seq, 'odd'))() < settings.oddText;
  if (odd) return `PLANTED-COMMENT-${seq} NUL \u0000, lone \ud83d and \udc4d`;
  if (seq % longTextEvery === longTextRest) {
    const line = `PLANTED-COMMENT-${seq} ${text}\n`;
    return line.repeat(Math.ceil(longTextCharacters / line.length));
  }
  return random() < 0.25 ? null : `PLANTED-COMMENT-${seq} ${text}`;
}

function isDrifting(projectSeed: number, seq: number, { drift }: DataSettings): boolean {
  return drift > 0 && createRandom(seedOf(projectSeed, seq, 'drift'))() < drift;
}

function isRejected(projectSeed: number, seq: number, { rejects }: DataSettings): boolean {
  return rejects > 0 && createRandom(seedOf(projectSeed, seq, 'reject'))() < rejects;
}

function unknownFields(random: Random): Record<string, unknown> {
  return {
    score: Math.round(random() * 50) / 10,
    reviewer: random() < 0.5 ? null : { team: 'docs', tags: ['a', 'ß'] },
    updatedAt: '2026-01-01T00:00:00.000Z',
  };
}

/** Makes an entry unreadable, in one way for each `kind`. */
function spoil(entry: Record<string, unknown>, kind: number): unknown {
  const { source: _source, ...withoutSource } = entry;
  const spoiled: readonly unknown[] = [
    { ...entry, id: 12_345 },
    { ...entry, comment: { text: entry.comment } },
    withoutSource,
    null,
    `not an entry: ${String(entry.comment)}`,
    [entry],
  ];
  return spoiled[kind];
}
