import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
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
 * Rows under a header where columns have titles, padded to the widest cell as a terminal shows it; colours have no width.
 * Where that is wider than `columns`, the last column is broken into lines, then those titled in `spare` are left out, the
 * first of them first; then the words of the last column go below their row, and every wide column is broken into lines.
 * Where that is not enough, each row becomes a block: its first cell, and a line for each other cell that holds something.
 */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
  spare: readonly string[] = [],
): string {
  const without = (left: number, breaks: 'last' | 'all') => {
    const leftOut = spare.slice(0, left);
    const shown = (cells: readonly string[]) => cells.filter((_, column) => !leftOut.includes(header[column] ?? ''));
    return evenLines(shown(header), rows.map(shown), columns, breaks);
  };
  for (let left = 0; left <= spare.length; left += 1) {
    const text = without(left, 'last');
    if (text !== null) return text;
  }
  return without(spare.length, 'all') ?? stackedLines(header, rows, columns);
}

/** Narrower than this, a column of words is unreadable. */
const narrowestWords = 24;

/** Null where it is wider than `columns`, even with its last column, or all of them, broken into lines. */
function evenLines(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
  breaks: 'last' | 'all',
): string | null {
  const widths = header.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, stringWidth(row[column] ?? '')), stringWidth(title)),
  );
  const last = header.length - 1;
  const below = breaks === 'all' && last > 0 && (widths[last] ?? 0) > narrowestWords;
  if (below) widths.pop();
  // Titles alone are not broken, however narrow the terminal.
  let over = rows.length === 0 ? 0 : widths.reduce((sum, width) => sum + width + 2, -2) - columns;
  for (; over > 0; over -= 1) {
    const [widest] = widths
      .flatMap((width, column) => (width > narrowestWords && (column === last || breaks === 'all') ? [column] : []))
      .sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (widest === undefined) return null;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const padded = (part: string, width: number) => part + ' '.repeat(width - stringWidth(part));
  const linesOf = (row: readonly string[]) => {
    const cells = widths.map((width, column) => brokenInto(row[column] ?? '', width));
    return Array.from({ length: Math.max(...cells.map(({ length }) => length)) }, (_, index) =>
      widths
        .map((width, column) => padded(cells[column]?.[index] ?? '', width))
        .join('  ')
        .trimEnd(),
    );
  };
  const words = (row: readonly string[]) => (below && isTold(row[last]) ? brokenInto(row[last], columns - 2) : []);
  const shown = rows.flatMap((row) => [...linesOf(row), ...words(row).map((line) => `  ${line}`)]);
  return [...(header.some((title) => title !== '') ? linesOf(header) : []), ...shown].join('\n');
}

const isTold = (cell: string | undefined): cell is string => cell !== undefined && !['', '-'].includes(cell.trim());

/** The text in lines of at most this width, broken between words; a longer word is broken too. */
const brokenInto = (text: string, width: number): string[] =>
  stringWidth(text) <= width ? [text] : wrapAnsi(text, width, { hard: true }).split('\n');

/** The text in lines, the first after `start`, and the others below it, `indented` cells from the left. */
function hanging(start: string, text: string, columns: number, indented = stringWidth(start)): string[] {
  const parts = brokenInto(text, Math.max(narrowestWords, columns - indented));
  return parts.map((part, index) => (index === 0 ? start : ' '.repeat(indented)) + part);
}

/** Breaks lines that are wider than a terminal: those of `factLines` below their value, others with an indent. */
export function wrapped(text: string, columns: number): string {
  const broken = text.split('\n').flatMap((line) => {
    if (stringWidth(line) <= columns) return line;
    const [fact = ''] = /^ *\S+(?: \S+)* {2,}/.exec(line) ?? [];
    if (fact !== '' && fact.length + narrowestWords <= columns) return hanging(fact, line.slice(fact.length), columns);
    const margin = line.length - line.trimStart().length;
    return hanging(' '.repeat(margin), line.trimStart(), columns, margin + 4);
  });
  return broken.join('\n');
}

/** A column without a title belongs to the one before it, or to the first with a title. */
function stackedLines(header: readonly string[], rows: readonly (readonly string[])[], columns: number): string {
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
    const told = cells.filter(([, cell]) => isTold(cell));
    const lines = told.flatMap(([title, cell]) => {
      return hanging(`  ${title}${' '.repeat(width - stringWidth(title))}  `, cell, columns);
    });
    return [...brokenInto(from(row, 0, starts[0]), columns), ...lines].join('\n');
  });
  return blocks.join('\n');
}

/** A project for people: its id, and its name if it has one. */
export function projectTitle({ project, name }: { project: string; name?: string | undefined }): string {
  return name === undefined ? project : `${project} “${name}”`;
}

/** A JSON document with every moment in ISO 8601: workflows have them in milliseconds, under names such as `since`, `doneAt`. */
export function withIsoMoments(document: object): object {
  return JSON.parse(JSON.stringify(document), (name, value: unknown) =>
    typeof value === 'number' && /(^at|At|[uU]ntil|^since)$/.test(name) ? new Date(value).toISOString() : value,
  );
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
  /** The limit and the filters. */
  flags: { limit: number };
  /** Of the terminal. */
  columns: number;
  /** In the plural. */
  what: string;
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
  { flags: { limit, ...filters }, columns, what, headings, cells }: HistoryTable<Row>,
): { rows: Row[]; more: boolean; text: string } {
  const isFiltered = Object.values(filters).some((filter) => filter !== undefined);
  const none = isFiltered ? `no matching ${what}` : `no ${what} yet`;
  const rows = found.slice(0, limit);
  const more = found.length > limit;
  const rest = more ? '\n… and older ones: raise --limit' : '';
  return { rows, more, text: rows.length === 0 ? none : tableLines(headings, rows.map(cells), columns) + rest };
}
