import { expect, it } from 'vitest';
import { type FeedbackRecord, recordColumns } from '../../../src/feedback/files/feedback-record.ts';
import { jsonLines } from '../../../src/feedback/files/text-files.ts';

const record: FeedbackRecord = {
  org_id: 'acme',
  project_id: 'prj_1',
  id: 'a',
  path: '/docs',
  comment: 'two\nlines, "quoted" 🙂',
  created_at: null,
  created_at_utc: null,
  source: 'contextual',
  status: 'pending',
  helpful: true,
  contact: null,
  code: null,
  filename: null,
  lang: null,
  extra: { nested: { list: [1, null] } },
  first_seen_at: '2026-11-21T08:00:00.000Z',
  last_seen_at: '2026-11-21T08:00:00.000Z',
  deleted_at: null,
};

it('is one object a line with exactly the columns in order, and no header', () => {
  const line = jsonLines.line(record);
  expect(jsonLines.header).toBe('');
  expect(line.indexOf('\n')).toBe(line.length - 1);
  const parsed = JSON.parse(line) as object;
  expect(Object.keys(parsed)).toEqual(recordColumns);
  expect(parsed).toMatchObject({ helpful: true, contact: null, extra: { nested: { list: [1, null] } } });
  expect(parsed).toMatchObject({ comment: record.comment });
});

it('has nothing but the columns, whatever else a row has', () => {
  const more = { ...record, secret: 'x' };
  expect(jsonLines.line(more)).toBe(jsonLines.line(record));
});
