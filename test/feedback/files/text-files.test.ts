import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FeedbackRecord, recordColumns } from '../../../src/feedback/files/feedback-record.ts';
import { csv, jsonLines } from '../../../src/feedback/files/text-files.ts';
import { anyRecord } from '../../tools/feedback/arbitrary-records.ts';

/** A cell as a strict reader of RFC 4180 sees it. */
interface Cell {
  text: string;
  quoted: boolean;
}

/** Reads CSV by the grammar of RFC 4180 §2 (with any text character, as its later revision allows); refuses all else. */
function parseCsv(text: string): Cell[][] {
  const rows: Cell[][] = [];
  let at = 0;
  const cell = (): Cell => {
    if (text[at] !== '"') {
      const [plain = ''] = /^[^",\r\n]*/u.exec(text.slice(at)) ?? [];
      at += plain.length;
      return { text: plain, quoted: false };
    }
    const [whole] = /^"(?:[^"]|"")*"/u.exec(text.slice(at)) ?? [];
    if (whole === undefined) throw new Error(`an unfinished quoted cell at ${at}`);
    at += whole.length;
    return { text: whole.slice(1, -1).replaceAll('""', '"'), quoted: true };
  };
  while (at < text.length) {
    const row = [cell()];
    while (text[at] === ',') {
      at += 1;
      row.push(cell());
    }
    if (!text.startsWith('\r\n', at)) throw new Error(`neither a comma nor CRLF at ${at}`);
    at += 2;
    rows.push(row);
  }
  return rows;
}

/** What a reader that tells null from an empty text makes of a row. */
function recordOf(cells: readonly Cell[]): Record<string, unknown> {
  return Object.fromEntries(
    recordColumns.map((column, index) => {
      const cell = cells[index];
      if (cell === undefined) throw new Error(`no cell for ${column}`);
      if (cell.text === '' && !cell.quoted) return [column, column === 'extra' ? {} : null];
      if (column === 'helpful') return [column, cell.text === 'true'];
      return [column, column === 'extra' ? JSON.parse(cell.text) : cell.text];
    }),
  );
}

const plain = csv({ formulaSafe: false });
const safe = csv({ formulaSafe: true });

function record(over: Partial<FeedbackRecord>): FeedbackRecord {
  const [some] = fc.sample(anyRecord, { numRuns: 1, seed: 1 });
  if (some === undefined) throw new Error('no record');
  return { ...some, ...over };
}

describe('CSV', () => {
  it('reads back as what was written, by a strict reader of RFC 4180, whatever the texts are', () => {
    fc.assert(
      fc.property(fc.array(anyRecord, { maxLength: 5 }), (written) => {
        const [header, ...rows] = parseCsv(plain.header + written.map((one) => plain.line(one)).join(''));
        expect(header?.map((cell) => cell.text)).toEqual(recordColumns);
        expect(rows.map(recordOf)).toEqual(JSON.parse(JSON.stringify(written)));
      }),
    );
  });

  it('is UTF-8 without a byte order mark, lines end with CRLF', () => {
    expect(plain.header).toBe(
      'org_id,project_id,id,path,comment,created_at,created_at_utc,source,status,helpful,contact,code,filename,lang,extra,first_seen_at,last_seen_at,deleted_at\r\n',
    );
  });

  it('writes null as nothing and an empty text as two quotes', () => {
    expect(plain.line(record({ comment: null }))).not.toEqual(plain.line(record({ comment: '' })));
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx', '\nx', '  =1', '＝1', '－1', '=cmd|"/c calc"!A1'])(
    'with formulaSafe no spreadsheet runs %j; without it the cell is as it was',
    (comment) => {
      const cellOf = (line: string) => parseCsv(line)[0]?.[4]?.text;
      expect(cellOf(safe.line(record({ comment })))).toBe(`'${comment}`);
      expect(cellOf(plain.line(record({ comment })))).toBe(comment);
    },
  );

  it.each([
    ['a;=1', "'a;'=1"],
    ['a|+1', "'a|'+1"],
    ['a\t@1', "'a\t'@1"],
    ['first\n=2+3', "'first\n'=2+3"],
    ['a";\r\n  -1', `'a";\r\n  '-1`],
  ])('with formulaSafe no reader with other separators runs %j', (comment, written) => {
    expect(parseCsv(safe.line(record({ comment })))[0]?.[4]?.text).toBe(written);
  });

  it('with formulaSafe no cell of any column begins a formula, and harmless ones are as they were', () => {
    fc.assert(
      fc.property(anyRecord, (one) => {
        const cells = parseCsv(safe.line(one))[0] ?? [];
        const before = parseCsv(plain.line(one))[0] ?? [];
        for (const [index, cell] of cells.entries()) {
          expect(cell.text).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/u);
          for (const part of cell.text.split(/[;|\t\r\n]/)) expect(part).not.toMatch(/^[\s"]*[=+\-@＝＋－＠]/u);
          const letters = (text = '') => text.replaceAll("'", '');
          if (cell.text !== before[index]?.text) expect(cell.text).toMatch(/^'/);
          expect(letters(cell.text)).toBe(letters(before[index]?.text));
        }
      }),
    );
    expect(safe.line(record({ comment: 'a = b', path: '/a-b' }))).toContain('a = b');
    expect(safe.line(record({ comment: 'a = b' }))).not.toContain("'a = b");
  });
});

const written: FeedbackRecord = {
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

describe('jsonLines', () => {
  it('is one object a line with exactly the columns in order, and no header', () => {
    const line = jsonLines.line(written);
    expect(jsonLines.header).toBe('');
    expect(line.indexOf('\n')).toBe(line.length - 1);
    const parsed = JSON.parse(line) as object;
    expect(Object.keys(parsed)).toEqual(recordColumns);
    expect(parsed).toMatchObject({ helpful: true, contact: null, extra: { nested: { list: [1, null] } } });
    expect(parsed).toMatchObject({ comment: written.comment });
  });

  it('has nothing but the columns, whatever else a row has', () => {
    const more = { ...written, secret: 'x' };
    expect(jsonLines.line(more)).toBe(jsonLines.line(written));
  });
});
