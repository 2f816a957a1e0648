import fc from 'fast-check';
import type { FeedbackRecord } from '../../../src/feedback/files/feedback-record.ts';

const nasty = fc.string({
  unit: fc.constantFrom(
    '"',
    ',',
    '\r',
    '\n',
    '\r\n',
    ' ',
    '\t',
    '=',
    '+',
    '-',
    '@',
    "'",
    'a',
    'é',
    '🙂',
    '\u2028',
    '＝',
  ),
});
const text = fc.oneof(
  nasty,
  fc.string({ unit: 'binary' }).map((value) => value.toWellFormed()),
);
const textOrNull = fc.option(text);

/** Records whose every text may be anything that is well-formed, also where a store has something of a form. */
export const anyRecord: fc.Arbitrary<FeedbackRecord> = fc.record({
  org_id: text,
  project_id: text,
  id: text,
  path: text,
  comment: textOrNull,
  created_at: textOrNull,
  created_at_utc: textOrNull,
  source: text,
  status: text,
  helpful: fc.option(fc.boolean()),
  contact: textOrNull,
  code: textOrNull,
  filename: textOrNull,
  lang: textOrNull,
  extra: fc.dictionary(
    text.filter((key) => key !== '__proto__'),
    fc.jsonValue(),
    { noNullPrototype: true, maxKeys: 3 },
  ),
  first_seen_at: text,
  last_seen_at: text,
  deleted_at: textOrNull,
});

/** What the store understands and what it writes itself: the years 1000 to 9999. */
const instant = fc
  .date({ min: new Date('1000-01-01T00:00:00.000Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  .map((date) => date.toISOString());

/** Records with times where a store has them. */
export const storedRecord: fc.Arbitrary<FeedbackRecord> = fc
  .tuple(
    anyRecord,
    fc.record({
      created_at_utc: fc.option(instant),
      first_seen_at: instant,
      last_seen_at: instant,
      deleted_at: fc.option(instant),
    }),
  )
  .map(([record, instants]) => ({ ...record, ...instants }));
