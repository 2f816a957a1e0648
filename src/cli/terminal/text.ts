import stringWidth from 'string-width';
import { invisible } from '../../rules/text.ts';

/** Longer names of facts, like those of targets, take a line of their own. */
const longestFactName = 24;

/** `name  value` lines with the values in one column. */
export function factLines(facts: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...facts.map(([name]) => name.length).filter((length) => length <= longestFactName));
  return facts
    .map(([name, value]) =>
      name.length > longestFactName ? `${name}\n${' '.repeat(width)}  ${value}` : `${name.padEnd(width)}  ${value}`,
    )
    .join('\n');
}

/**
 * Rows under a header, columns padded to the widest cell as a terminal shows it; colours have no width. Where that is
 * wider than `columns`, the last column is broken into lines, then those titled in `spare` are left out, the first of them
 * first; where that is not enough, each row becomes a block: its first cell, and a line for each other cell that holds
 * something.
 */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
  spare: readonly string[] = [],
): string {
  for (let left = 0; left <= spare.length; left += 1) {
    const leftOut = spare.slice(0, left);
    const shown = (cells: readonly string[]) => cells.filter((_, column) => !leftOut.includes(header[column] ?? ''));
    const text = evenLines(shown(header), rows.map(shown), columns);
    if (text !== null) return text;
  }
  return stackedLines(header, rows);
}

/** Narrower than this, a column of words is unreadable. */
const narrowestWords = 24;

/** Null where it is wider than `columns`, even with the last column broken into lines. */
function evenLines(header: readonly string[], rows: readonly (readonly string[])[], columns: number): string | null {
  const widths = header.map((title, column) =>
    Math.max(stringWidth(title), ...rows.map((row) => stringWidth(row[column] ?? ''))),
  );
  const last = header.length - 1;
  const before = widths.slice(0, last).reduce((sum, cell) => sum + cell + 2, 0);
  // Titles alone are not broken, however narrow the terminal.
  const room = rows.length === 0 ? Number.POSITIVE_INFINITY : columns - before;
  if (room < Math.min(narrowestWords, widths[last] ?? 0)) return null;
  const line = (cells: readonly string[]) => {
    const padded = cells
      .slice(0, last)
      .map((cell, column) => `${cell + ' '.repeat((widths[column] ?? 0) - stringWidth(cell))}  `)
      .join('');
    const words = brokenInto(cells[last] ?? '', room);
    return words.map((part, index) => (index === 0 ? padded + part : ' '.repeat(before) + part).trimEnd()).join('\n');
  };
  return [header, ...rows].map(line).join('\n');
}

/** The text in lines of at most this width, broken between words; a longer word is broken too. */
function brokenInto(text: string, width: number): string[] {
  if (stringWidth(text) <= width) return [text];
  const lines = [''];
  const add = (word: string) => {
    const line = lines.at(-1) ?? '';
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || stringWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  };
  for (const word of text.split(' ')) {
    const letters = stringWidth(word) > width ? [...word] : [];
    if (letters.length === 0) add(word);
    for (let at = 0; at < letters.length; at += width) add(letters.slice(at, at + width).join(''));
  }
  return lines;
}

/** A column without a title belongs to the one before it, or to the first with a title. */
function stackedLines(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const first = Math.max(
    0,
    header.findIndex((title) => title !== ''),
  );
  const starts = header.flatMap((title, column) => (column > first && title !== '' ? [column] : []));
  const width = Math.max(0, ...starts.map((column) => stringWidth(header[column] ?? '')));
  const from = (row: readonly string[], start: number, end: number | undefined) =>
    row
      .slice(start, end)
      .filter((cell) => cell.trim() !== '')
      .join(' ');
  const blocks = rows.map((row) => {
    const cells = starts.map((start, place) => [header[start] ?? '', from(row, start, starts[place + 1])] as const);
    const told = cells.filter(([, cell]) => cell !== '' && cell !== '-');
    const lines = told.map(([title, cell]) => `  ${title}${' '.repeat(width - stringWidth(title))}  ${cell}`);
    return [from(row, 0, starts[0]), ...lines].join('\n');
  });
  return blocks.join('\n');
}

/** A project for people: its id, and its name if it has one. */
export function projectTitle({ project, name }: { project: string; name?: string | undefined }): string {
  return name === undefined ? project : `${project} “${name}”`;
}

/** ISO 8601 of milliseconds since the epoch, for JSON documents. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** `2026-11-21 04:02:00` of an ISO 8601 time in UTC, for tables. */
export function timeText(iso: string | null): string {
  return iso === null ? '-' : iso.slice(0, 19).replace('T', ' ');
}

/** `2026-11-21 04:02:00 UTC` of an ISO 8601 time in UTC. */
export function utcText(iso: string): string {
  return `${timeText(iso)} UTC`;
}

/** Foreign text, safe for a terminal: control characters are replaced, long texts are cut in the middle. */
export function printable(text: string, longest = 60): string {
  const safe = text.replaceAll(invisible, '\uFFFD');
  const characters = [...safe];
  if (characters.length <= longest) return safe;
  const half = Math.floor((longest - 1) / 2);
  return `${characters.slice(0, half).join('')}…${characters.slice(-half).join('')}`;
}

/** Indents every line, to go below a heading. */
export function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

interface HistoryTable<Row> {
  limit: number;
  /** Of the terminal. */
  columns: number;
  /** Said when there is no row. */
  none: string;
  headings: readonly string[];
  cells(row: Row): string[];
}

/**
 * What a list of the past shows.
 *
 * @param found one row more than the limit where there are more (`historyFilter`)
 */
export function historyList<Row>(
  found: readonly Row[],
  { limit, columns, none, headings, cells }: HistoryTable<Row>,
): { rows: Row[]; more: boolean; text: string } {
  const rows = found.slice(0, limit);
  const more = found.length > limit;
  const rest = more ? '\n… and older ones: raise --limit' : '';
  return { rows, more, text: rows.length === 0 ? none : tableLines(headings, rows.map(cells), columns) + rest };
}
