import {
  booleanField,
  choiceField,
  countField,
  durationField,
  numberField,
  shareField,
  sizeField,
  textField,
  type ValuesOf,
} from './field.ts';

const hourMs = 3_600_000;

/** Settings that are fixed when the sandbox starts, with flags and defaults. */
export const settingFields = {
  host: textField('host', '127.0.0.1', 'address both ports listen on'),
  port: countField('port', 0, 'port of the API; 0 picks a free one', { max: 65_535 }),
  storagePort: countField('storage-port', 0, 'port of the object store; 0 picks a free one', { max: 65_535 }),
  seed: countField('seed', 1, 'seed of everything generated: entries, sites, the dice of the fault rates'),
  clockSkewMs: durationField('clock-skew', 0, "how far the service's clock is ahead (negative: behind)", {
    min: -365 * 24 * hourMs,
  }),

  requests: countField('requests', 100, 'analytics requests per organization and window', { min: 1 }),
  windowMs: durationField('window', hourMs, 'length of the rate window', { min: 1 }),
  windowKind: choiceField(
    'window-kind',
    ['sliding', 'fixed'],
    'true sliding window, or one that starts over at each multiple of its length',
  ),
  countRejected: booleanField('count-rejected', 'requests answered 429 use up the window too'),

  entries: countField('entries', 1_000, 'feedback entries generated per project'),
  days: numberField('days', 400, 'entries are spread over this many days before --now', { min: 0.001 }),
  now: textField('now', '', 'ISO 8601 moment the generated entries end at; default: the start'),
  order: choiceField('order', ['newest', 'oldest'], 'order of the entries'),
  openShare: shareField('open-share', 0.03, 'share of entries that are pending or in progress'),
  nullDates: shareField('null-dates', 0.01, 'share of entries without createdAt'),
  nulls: choiceField('nulls', ['last', 'first'], 'place of entries without createdAt'),
  drift: shareField('drift', 0, 'share of entries with unknown enum values and unknown fields'),
  rejects: shareField('rejects', 0, 'share of entries that are mistyped or not objects'),
  oddText: shareField('odd-text', 0, 'share of entries with NUL characters and lone surrogates'),
  oddDates: shareField('odd-dates', 0, 'share of dates in other forms: another zone, numbers, text'),
  cursorKind: choiceField('cursor-kind', ['keyset', 'offset'], 'with offset, entries shift between pages'),
  cursorTtlMs: durationField('cursor-ttl', 0, 'lifetime of a cursor; 0: for ever'),
  dateFrom: choiceField('date-from', ['inclusive', 'exclusive'], 'whether dateFrom itself is included'),
  dateTimes: choiceField('date-times', ['exact', 'as-dates'], 'as-dates cuts date-times to their date'),
  dateOffset: textField('date-offset', '+00:00', 'zone of dates without one', /^[+-]\d\d:\d\d$/),

  jobSeconds: numberField('job-seconds', 8, 'how long an export job takes'),
  pages: countField('pages', 20, 'pages of a generated site, its index included', { min: 1 }),
  padBytes: sizeField('pad-bytes', 0, 'size of an incompressible asset added to each site'),
  archiveFormat: choiceField('archive-format', ['tar.gz', 'tar', 'zip'], 'format of the bundle'),
  storageRate: sizeField('storage-rate', 0, 'bytes per second of one storage connection; 0: unlimited'),
};

export type Settings = ValuesOf<typeof settingFields>;
