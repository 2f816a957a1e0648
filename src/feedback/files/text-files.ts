import { type FeedbackRecord, type LineFormat, type RecordEncoder, recordColumns } from './feedback-record.ts';

/**
 * What spreadsheets run instead of showing it, by OWASP's list ("CSV Injection"), also behind blanks and in full width:
 * a formula begins with = + - or @. A reader that takes `;`, a tab or `|` for the separator, or ignores quotes, begins a
 * cell behind each of these and at each line.
 */
const runs = /^[\t\r\n]|^[\s"']*[=+\-@＝＋－＠]/u;
/** The same places inside a text, where each needs a separate apostrophe: with the sign or without, no blank is read twice. */
const inner = /([;|\t\r\n][\s"';|]*)([=+\-@＝＋－＠])?/gu;

/** Cells that RFC 4180 requires in quotes, and those whose blanks at the ends a reader might trim. */
const needsQuotes = /[",\r\n]|^\s|\s$/u;

/**
 * CSV by RFC 4180: CRLF, a header, UTF-8 without a byte order mark. `extra` is JSON text. Null is nothing, an empty text
 * is `""`: PostgreSQL's COPY and DuckDB tell them apart. With `formulaSafe`, cells that a spreadsheet would run get an
 * apostrophe in front, which changes their text.
 */
export function csv({ formulaSafe }: { formulaSafe: boolean }): LineFormat {
  const cell = (text: string | null): string => {
    if (text === null) return '';
    const safe = formulaSafe ? safeText(text) : text;
    return safe === '' || needsQuotes.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const line = (cells: readonly (string | null)[]) => `${cells.map(cell).join(',')}\r\n`;
  return {
    header: line(recordColumns),
    line: (record) => line(recordColumns.map((column) => textOf(record[column]))),
  };
}

/** An apostrophe in front of the text, and of each place inside where a cell may begin with a formula. */
function safeText(text: string): string {
  const safe = text.replace(inner, (all, before: string, sign?: string) => (sign ? `${before}'${sign}` : all));
  return safe !== text || runs.test(text) ? `'${safe}` : text;
}

function textOf(value: FeedbackRecord[keyof FeedbackRecord]): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return Object.keys(value).length === 0 ? null : JSON.stringify(value);
}

/** One JSON object a line, with exactly the columns; `extra` is an object, `helpful` true, false or null. */
export const jsonLines: LineFormat = {
  header: '',
  line: (record) => `${JSON.stringify(Object.fromEntries(recordColumns.map((column) => [column, record[column]])))}\n`,
};

/** Characters of a piece, roughly: enough to make writing cheap; larger ones only cost memory. */
const pieceLength = 64 * 1024;

/** A file of lines of text, one a record. */
export function lines(format: LineFormat): RecordEncoder {
  let piece = format.header;
  const take = (): string => {
    const taken = piece;
    piece = '';
    return taken;
  };
  return {
    add(record) {
      piece += format.line(record);
      return piece.length < pieceLength ? null : take();
    },
    end: take,
  };
}
