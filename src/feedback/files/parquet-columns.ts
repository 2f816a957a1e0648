import type { SchemaElement } from 'hyparquet-writer';
import { type FeedbackRecord, recordColumns } from './feedback-record.ts';
import { type ColumnValues, FlagValues, InstantValues, TextValues } from './parquet-values.ts';

/** A column of the table in a Parquet file, and its values in the row group that is being filled. */
export interface ParquetColumn {
  name: keyof FeedbackRecord;
  type: Omit<SchemaElement, 'name'>;
  /** Whether the least and the greatest value of each group are written, by which readers skip groups. */
  bounds: boolean;
  values: Pick<ColumnValues<never>, 'decoded' | 'clear'>;
  /** Takes the value of a record; returns how many characters of text it has. */
  add(record: FeedbackRecord): number;
}

type Unnamed = Omit<ParquetColumn, 'name'>;
type Facts = Pick<SchemaElement, 'repetition_type'> & { bounds: boolean };
type Read<Value> = (record: FeedbackRecord) => Value | null;

const required: Facts = { repetition_type: 'REQUIRED', bounds: true };
const optional: Facts = { repetition_type: 'OPTIONAL', bounds: true };
/** Bounds would help no reader, and put what people wrote into the footer. */
const freeText: Facts = { repetition_type: 'OPTIONAL', bounds: false };

/** The columns in the order of contracts.md, empty. */
export function parquetColumns(): ParquetColumn[] {
  const columns: Record<keyof FeedbackRecord, Unnamed> = {
    org_id: text(required, ({ org_id }) => org_id),
    project_id: text(required, ({ project_id }) => project_id),
    id: text(required, ({ id }) => id),
    path: text(required, ({ path }) => path),
    comment: text(freeText, ({ comment }) => comment),
    created_at: text(optional, ({ created_at }) => created_at),
    created_at_utc: instant(optional, ({ created_at_utc }) => created_at_utc),
    source: text(required, ({ source }) => source),
    status: text(required, ({ status }) => status),
    helpful: flag(optional, ({ helpful }) => helpful),
    contact: text(freeText, ({ contact }) => contact),
    code: text(freeText, ({ code }) => code),
    filename: text(optional, ({ filename }) => filename),
    lang: text(optional, ({ lang }) => lang),
    extra: text(freeText, ({ extra }) => (Object.keys(extra).length === 0 ? null : JSON.stringify(extra))),
    first_seen_at: instant(required, ({ first_seen_at }) => first_seen_at),
    last_seen_at: instant(required, ({ last_seen_at }) => last_seen_at),
    deleted_at: instant(optional, ({ deleted_at }) => deleted_at),
  };
  return recordColumns.map((name) => ({ name, ...columns[name] }));
}

function text({ bounds, ...repetition }: Facts, read: Read<string>): Unnamed {
  const values = new TextValues();
  return {
    type: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' }, ...repetition },
    bounds,
    values,
    add(record) {
      const value = read(record);
      values.add(value);
      return value?.length ?? 0;
    },
  };
}

function instant({ bounds, ...repetition }: Facts, read: Read<string>): Unnamed {
  const values = new InstantValues();
  const timestamp = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const;
  return {
    type: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', logical_type: timestamp, ...repetition },
    bounds,
    values,
    add(record) {
      const value = read(record);
      const ms = value === null ? null : Date.parse(value);
      if (Number.isNaN(ms)) {
        throw new Error(`entry ${record.id} of project ${record.project_id} has ${value} where a UTC time has to be`);
      }
      values.add(ms);
      return 0;
    },
  };
}

function flag({ bounds, ...repetition }: Facts, read: Read<boolean>): Unnamed {
  const values = new FlagValues();
  return {
    type: { type: 'BOOLEAN', ...repetition },
    bounds,
    values,
    add(record) {
      values.add(read(record));
      return 0;
    },
  };
}
