import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { type FeedbackRecord, type RecordEncoder, recordColumns } from './feedback-record.ts';

type Value = string | boolean | bigint | null;
type Read = (record: FeedbackRecord) => Value;

/** A column of the table in a Parquet file, and its values in the row group that is being filled. */
interface ParquetColumn {
  name: keyof FeedbackRecord;
  type: Omit<SchemaElement, 'name'>;
  /** Whether to write each group's least and greatest value, so that readers can skip groups. */
  bounds: boolean;
  read: Read;
  values: Value[];
}

type Kind = Pick<ParquetColumn, 'type' | 'read'>;

const required = { repetition_type: 'REQUIRED', bounds: true } as const;
const optional = { repetition_type: 'OPTIONAL', bounds: true } as const;
/** Bounds would help no reader, and put what people wrote into the footer. */
const freeText = { repetition_type: 'OPTIONAL', bounds: false } as const;

/** The columns in the order of contracts.md, empty. */
function parquetColumns(): ParquetColumn[] {
  const facts: Record<keyof FeedbackRecord, typeof required | typeof optional | typeof freeText> = {
    org_id: required,
    project_id: required,
    id: required,
    path: required,
    comment: freeText,
    created_at: optional,
    created_at_utc: optional,
    source: required,
    status: required,
    helpful: optional,
    contact: freeText,
    code: freeText,
    filename: optional,
    lang: optional,
    extra: freeText,
    first_seen_at: required,
    last_seen_at: required,
    deleted_at: optional,
  };
  return recordColumns.map((name) => {
    const { bounds, ...repetition } = facts[name];
    const { type, read } = kindOf(name);
    return { name, type: { ...type, ...repetition }, bounds, read, values: [] };
  });
}

function kindOf(name: keyof FeedbackRecord): Kind {
  switch (name) {
    case 'helpful':
      return { type: { type: 'BOOLEAN' }, read: ({ helpful }) => helpful };
    case 'extra':
      return text(({ extra }) => (Object.keys(extra).length === 0 ? null : JSON.stringify(extra)));
    case 'created_at_utc':
    case 'first_seen_at':
    case 'last_seen_at':
    case 'deleted_at':
      return instant((record) => record[name]);
    default:
      return text((record) => record[name]);
  }
}

const text = (read: Read): Kind => ({
  type: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  read,
});

/** Milliseconds since the epoch. */
function instant(textOf: (record: FeedbackRecord) => string | null): Kind {
  const timestamp = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const;
  return {
    type: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', logical_type: timestamp },
    read(record) {
      const value = textOf(record);
      if (value === null) return null;
      const ms = Date.parse(value);
      if (Number.isNaN(ms)) {
        throw new Error(`entry ${record.id} of project ${record.project_id} has ${value} where a UTC time has to be`);
      }
      return BigInt(ms);
    },
  };
}

/** A row group, which stays in memory and which readers skip by its dates, ends at this many rows or characters. */
const rowsOfGroup = 10_000;
const charactersOfGroup = 8 * 1024 * 1024;

/** Parquet with the table's columns (feedback-files.md), in Snappy. `add` throws an Error for a time it cannot read. */
export function parquet(): RecordEncoder {
  const columns = parquetColumns();
  const elements = columns.map(({ name, type }) => ({ name, ...type }));
  const schema = [{ name: 'feedback', num_children: elements.length }, ...elements];
  const bytes = new ByteWriter();
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'docferry' });
  let rows = 0;
  let characters = 0;

  // Nothing is awaited: the library writes to memory, from which the bytes are taken after each group.
  const endGroup = (): void => {
    const columnData = columns.map(({ name, bounds, values }) => ({ name, statistics: bounds, data: values }));
    void file.write({ columnData, rowGroupSize: rows });
    for (const column of columns) column.values = [];
    rows = 0;
    characters = 0;
  };
  const take = (): Uint8Array => {
    const taken = new Uint8Array(bytes.getBuffer());
    bytes.index = 0;
    return taken;
  };
  return {
    add(record) {
      for (const { read, values } of columns) {
        const value = read(record);
        values.push(value);
        if (typeof value === 'string') characters += value.length;
      }
      rows += 1;
      if (rows < rowsOfGroup && characters < charactersOfGroup) return null;
      endGroup();
      return take();
    },
    end() {
      if (rows > 0) endGroup();
      void file.finish();
      return take();
    },
  };
}
