import { afterAll, describe, expect, it } from 'vitest';
import { ClientTokens, headersToClient, readAnalyticsTarget } from '../src/budget/gateway/gateway.ts';
import { safeForTerminal } from '../src/cli/context.ts';
import { printable, tableLines } from '../src/cli/terminal/text.ts';
import { documentLink } from '../src/console/pages/entry-page.tsx';
import { readable } from '../src/console/pages/feedback-hits.tsx';
import { Why } from '../src/console/pages/parts.tsx';
import { feedbackQuery, nextVisit } from '../src/console/readings/feedback-query.ts';
import { checkPath } from '../src/exports/archive/check-entry.ts';
import { parsePaxOverride } from '../src/exports/archive/read-tar.ts';
import { judgeAnswer } from '../src/exports/fetch/object-request.ts';
import { expiryOf } from '../src/exports/fetch/presigned-links.ts';
import { parseValues } from '../src/exports/rollout/edit-values.ts';
import { printablePath } from '../src/exports/rules/verification-rules.ts';
import { rangeOf } from '../src/exports/server/bundle-server.ts';
import { manifestIn } from '../src/exports/store/manifests.ts';
import { lineDiff, pageText } from '../src/exports/verify/compare-pages.ts';
import { SiteInspection, secretFile } from '../src/exports/verify/inspect-file.ts';
import { importMapReferences, srcsetUrls } from '../src/exports/verify/references.ts';
import { destinationOf } from '../src/exports/verify/site-links.ts';
import { serverFile } from '../src/exports/verify/verify-archive.ts';
import type { FeedbackRecord, RecordEncoder } from '../src/feedback/files/feedback-record.ts';
import { parquet } from '../src/feedback/files/parquet-file.ts';
import { csv, jsonLines, lines } from '../src/feedback/files/text-files.ts';
import { namesOfEntry, rejectNames } from '../src/feedback/privacy/personal-data.ts';
import { shortened, visible } from '../src/feedback/report/figure.ts';
import { createdAtUtc } from '../src/feedback/rules/feedback-entry.ts';
import { documentKey } from '../src/feedback/rules/report-figures.ts';
import { postgresWords } from '../src/feedback/search/entry-index.ts';
import { foundText } from '../src/feedback/search/find-entries.ts';
import { searchPhrases, textWords } from '../src/feedback/search/search-words.ts';
import { entryContent } from '../src/feedback/store/queries.ts';
import { readRetryAfter } from '../src/rules/retry-after.ts';
import { isoInstant, summaryText, visibleJson } from '../src/rules/text.ts';
import { readActor } from '../src/runs/rules/audit.ts';
import { noticeReason } from '../src/runs/rules/notices.ts';
import type { WebhookMessage } from '../src/runs/rules/webhook-event.ts';
import { messageBody } from '../src/runs/webhooks.ts';
import { readFeedbackPage, readJobStatus, readPageCount, readProgress } from '../src/service/client.ts';
import { errorFor, safeText } from '../src/service/service-area.ts';
import { subjectOfWorkflow } from '../src/temporal/log.ts';

/** What the service, an archive, a request or a file of others may contain, character by character. */
const characters = [...' \t\r\n"\',;|<>&/\\.-=%AK0{}[(@:', '\u0301', '\ud83d'];
/** What begins something in one of the languages read: each counts as a character. */
const words = [
  'AKIA',
  'github_pat_',
  'xoxb-1-',
  '-----BEGIN ',
  '<a href=/',
  '<!--',
  '<svg><style>',
  'url(',
  '/*',
  'of',
  'jane@a.example',
];

const of = (text: string, size: number) => text.repeat(Math.ceil(size / text.length)).slice(0, size);

/** Texts of a size: of each character and word, then of each pair, by turns and in two halves. */
const singles: readonly [name: string, text: (size: number) => string][] = [...characters, ...words].map((one) => [
  JSON.stringify(one),
  (size) => of(one, size),
]);
const pairs: typeof singles = characters.flatMap((one, index, all) =>
  all.slice(0, index).flatMap((other): [string, (size: number) => string][] => [
    [JSON.stringify([one, other]), (size) => of(one + other, size)],
    [`${JSON.stringify(one)}…${JSON.stringify(other)}`, (size) => of(one, size / 2) + of(other, size / 2)],
  ]),
);

const record: FeedbackRecord = {
  org_id: 'o',
  project_id: 'p',
  id: 'i',
  path: '/',
  comment: null,
  created_at: null,
  created_at_utc: null,
  source: 's',
  status: 's',
  helpful: null,
  contact: null,
  code: null,
  filename: null,
  lang: null,
  extra: {},
  first_seen_at: '2026-11-21T04:02:00.000Z',
  last_seen_at: '2026-11-21T04:02:00.000Z',
  deleted_at: null,
};
const encode = (encoder: RecordEncoder, text: string) => {
  encoder.add({ ...record, path: text, comment: text, contact: text, extra: { text } });
  encoder.end();
};
const inspect = (path: string, text: string) => {
  const site = new SiteInspection({} as ConstructorParameters<typeof SiteInspection>[0], null);
  site.inspect(path, Buffer.from(text));
};
const entry = (text: string) => ({
  id: text.slice(0, 500),
  path: text,
  comment: text,
  createdAt: text,
  source: text,
  status: text,
});
const notice = (text: string): WebhookMessage => ({
  type: 'export.failed',
  timestamp: '2026-11-21T04:02:00Z',
  data: {
    org: 'o',
    subject: text,
    state: 'begun',
    since: '2026-11-21T04:02:00Z',
    reason: text,
    command: text,
    facts: { a: text },
  },
});
const content = (text: string) =>
  entryContent(
    { ...entry(text), helpful: null, contact: text, code: text, filename: text, lang: text, extra: { text } },
    'o',
    'p',
  );
const row = (text: string) => ({ ...content(text), first_seen_at: '', last_seen_at: '', deleted_at: null });

/** Every place that reads text of others, with that text where it may be longest. */
const places: Readonly<Record<string, (text: string) => unknown>> = {
  csv: (text) => encode(lines(csv({ formulaSafe: true })), text),
  'csv as it is': (text) => encode(lines(csv({ formulaSafe: false })), text),
  jsonl: (text) => encode(lines(jsonLines), text),
  parquet: (text) => encode(parquet(), text),
  'report text': (text) => [visible(text), shortened(text, 100)],
  'search words': (text) => searchPhrases(text),
  'indexed words': (text) => postgresWords(row(text)),
  'all words': (text) => [...textWords(text)].length,
  'found text': (text) =>
    foundText(text, [
      { words: ['a', 'k'], isBeginning: false },
      { words: ['a'], isBeginning: true },
    ]),
  'line diff': (text) => lineDiff(text.split('\n'), text.split(/[\n;]/), { around: 2, most: 80 }),
  'page text': (text) => pageText(text),
  'html page': (text) => inspect('a.html', text),
  'html within': (text) => inspect('a.html', `<style>${text}</style><script>${text}</script><iframe srcdoc='${text}'>`),
  'html attributes': (text) =>
    inspect(
      'a.html',
      `<meta http-equiv=refresh content="${text}"><img srcset="${text}"><a ping="${text}" href="${text}" style="${text}">`,
    ),
  'links below a base': (text) =>
    inspect(
      'a.html',
      `<base href="/${text}/">${Array.from({ length: text.length / 16 }, (_, link) => `<a href=${link}>`).join('')}`,
    ),
  'svg image': (text) => inspect('a.svg', `<svg><style>${text}</style></svg>${text}`),
  'style sheet': (text) => inspect('a.css', text),
  script: (text) => inspect('a.js', `//${text}`),
  'other text': (text) => inspect('a.json', text),
  'import map': (text) => importMapReferences(text, 0),
  srcset: (text) => srcsetUrls(text),
  'link of a page': (text) => destinationOf(text, 'a/'),
  'path of a file': (text) => [checkPath(text, false), secretFile(text), serverFile(text), printablePath(text)],
  'pax records': (text) => parsePaxOverride(Buffer.from(text)),
  manifest: (text) => manifestIn(text),
  'link expiry': (text) => [expiryOf(text), expiryOf(`https://a.example/${text}?X-Amz-Date=${text}`)],
  'answer of a store': (text) =>
    judgeAnswer(
      {
        status: 206,
        etag: text,
        contentLength: text,
        contentRange: text,
        contentEncoding: null,
        retryAfter: text,
        date: text,
      },
      { kind: 'opening', end: 9 },
    ),
  'range asked for': (text) => [rangeOf(text, 9), rangeOf(`bytes=${text}`, 9)],
  progress: (text) => [
    readProgress(text),
    readProgress(`1${text}2`),
    readProgress({ percent: `1${text}2` }),
    readPageCount({ done: `1${text}2` }),
  ],
  'job answer': (text) =>
    readJobStatus(JSON.stringify({ status: text, progress: text, pageCount: text, error: text }), 'j', [
      text.slice(0, 9),
    ]),
  'raw answer': (text) => readJobStatus(text, 'j', []),
  'error answer': (text) =>
    errorFor(
      {
        status: 400,
        retryAfter: text,
        date: text,
        text: JSON.stringify({ error: text, details: [{ message: text }] }),
      },
      [],
      0,
    ),
  'safe text': (text) => safeText(text, [], 100_000),
  'feedback page': (text) =>
    readFeedbackPage(JSON.stringify({ feedback: [entry(text), { id: text }], nextCursor: text, hasMore: true })),
  'raw feedback page': (text) =>
    readFeedbackPage(`{"feedback":[{"id":1,"a":${JSON.stringify(text)}}],"hasMore":false}`),
  'stored entry': (text) => content(text),
  dates: (text) => [
    createdAtUtc(text),
    isoInstant(text),
    createdAtUtc(`2026-11-21 04:02:00${text}`),
    isoInstant(`2026-11-21T04:02${text}Z`),
  ],
  'retry-after': (text) => readRetryAfter(text, text, 0),
  'personal data': (text) => [
    [...namesOfEntry(content(text))].length,
    rejectNames({ id: text, raw: JSON.stringify(text) }, new Set(['jane@a.example', text.slice(0, 50)])),
  ],
  'text on a terminal': (text) => [safeForTerminal(text, true), printable(text), visibleJson(text), summaryText(text)],
  'table on a terminal': (text) => tableLines(['a'], [[printable(text)]]),
  webhooks: (text) => [
    messageBody(notice(text), 'standard'),
    messageBody(notice(text), 'slack'),
    messageBody(notice(text), 'teams'),
  ],
  'notice reason': (text) => noticeReason(text),
  'gateway path': (text) => [
    readAnalyticsTarget(`/v1/analytics/${text}`),
    readAnalyticsTarget(`/v1/analytics/a?${text}`),
  ],
  'gateway headers': (text) => [
    headersToClient({ etag: text, link: text }),
    new ClientTokens([]).clientOf(`Bearer ${text}`),
  ],
  'query of an address': (text) => feedbackQuery(new URLSearchParams(text)),
  'visit cookie': (text) => nextVisit(text, 'jane', 0),
  'reason on a page': (text) => `${Why({ reason: text })}${Why({ reason: `; a${text}` })}`,
  'feedback on a page': (text) => [
    readable(text),
    documentLink(text, ['a.example']),
    documentKey(text),
    documentKey(`https://${text}`),
  ],
  'workflow id': (text) => subjectOfWorkflow(`scheduled:${text}`),
  'name of an actor': (text) => readActor({ who: text, reason: text }),
  'values file': (text) => parseValues(`a: 1 # ${text}`),
};

/** Two sizes, the second four times the first: a reader in proportion takes four times as long. */
const [short, long] = [4 * 1024, 256 * 1024];
const mostGrowth = 8;
const quickMs = 5;

/** Milliseconds of the processor that so many readings take: what other processes take does not count. */
function timed(read: (text: string) => unknown, text: string, times: number): number {
  const began = process.cpuUsage();
  for (let turn = 0; turn < times; turn += 1) {
    try {
      read(text);
    } catch {
      // Refused: as good as read.
    }
  }
  return process.cpuUsage(began).user / 1000;
}

/**
 * How many times longer four times the text takes, the best of twelve, since collecting garbage counts too; 0 for what is
 * quick anyway. The shorter text is read four times, since the system counts a processor's time in milliseconds.
 */
function growth(read: (text: string) => unknown, text: (size: number) => string, size: number): number {
  const [shorter, longer] = [text(size), text(4 * size)];
  let best = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 12 && best > mostGrowth; turn += 1) {
    const after = timed(read, longer, 1);
    if (after < quickMs) return 0;
    best = Math.min(best, (4 * after) / timed(read, shorter, 4));
  }
  return best;
}

let slowest = { grown: 0, what: 'nothing took long' };
afterAll(() => {
  process.stderr.write(
    `slowest: ${slowest.grown.toFixed(1)} times as long for four times the text (${slowest.what})\n`,
  );
});

describe('a text of others is read in proportion to its length', () => {
  it.each(Object.entries(places))('%s', { timeout: 600_000 }, (place, read) => {
    const slow: string[] = [];
    const judge = (name: string, text: (size: number) => string, size: number): boolean => {
      const grown = growth(read, text, size);
      if (grown > slowest.grown) slowest = { grown, what: `${place}, ${name}, ${4 * size} characters` };
      if (grown > mostGrowth) slow.push(`${name}: ${grown.toFixed(1)} times as long for ${4 * size} characters`);
      return grown <= mostGrowth;
    };
    // What grows by the square would take hours for a megabyte: it is shown before. Pairs are many and get no further.
    for (const [name, text] of singles) if (judge(name, text, short)) judge(name, text, long);
    for (const [name, text] of pairs) judge(name, text, short);
    expect(slow).toEqual([]);
  });
});

/** What reads an entry's texts, which no other limit than that of an answer cuts. */
const unlimited = ['csv', 'indexed words', 'found text', 'personal data', 'report text', 'stored entry'];

describe('a text of eight million characters is read', () => {
  it.each([...unlimited, 'feedback on a page'])('%s', (place) => {
    // A pattern that takes a whole run keeps its way back: 64 MB of it, and the engine throws.
    for (const one of ['x', '漢', '𐐷']) expect(() => places[place]?.(of(one, 8_000_000)), one).not.toThrow();
  });
});
