import { recordColumns } from './feedback-record.ts';
import type { LineFormat } from './file-format.ts';

/** One JSON object a line, with exactly the columns; `extra` is an object, `helpful` true, false or null. */
export const jsonLines: LineFormat = {
  header: '',
  line: (record) => `${JSON.stringify(Object.fromEntries(recordColumns.map((column) => [column, record[column]])))}\n`,
};
