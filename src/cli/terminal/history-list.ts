import { tableLines } from './text.ts';

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
