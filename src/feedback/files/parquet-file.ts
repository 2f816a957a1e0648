import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { type FeedbackRecord, type RecordEncoder, recordColumns } from './feedback-record.ts';

/** The values of one column, collected until the row group is encoded. */
interface ColumnValues<Value> {
  add(value: Value | null): void;
  /** The values in their order, in a list that `clear` leaves as it is. */
  decoded(): (string | boolean | bigint | null)[];
  clear(): void;
}

const none = -1;
const firstBytes = 16 * 1024;

/** Texts as UTF-8 in one buffer: as strings they would outlive the young heap, and the old one would grow. */
class TextValues implements ColumnValues<string> {
  #bytes = Buffer.allocUnsafeSlow(firstBytes);
  #used = 0;
  /** Where each text ends in the buffer; `none` for null. */
  readonly #ends: number[] = [];

  add(text: string | null): void {
    if (text !== null) {
      this.#makeRoom(text);
      this.#used += this.#bytes.write(text, this.#used, 'utf8');
    }
    this.#ends.push(text === null ? none : this.#used);
  }

  decoded(): (string | null)[] {
    let start = 0;
    return this.#ends.map((end) => {
      if (end === none) return null;
      const text = this.#bytes.toString('utf8', start, end);
      start = end;
      return text;
    });
  }

  clear(): void {
    this.#used = 0;
    this.#ends.length = 0;
  }

  #makeRoom(text: string): void {
    // A UTF-16 unit takes three bytes at most.
    const needed = this.#used + text.length * 3;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#used);
    this.#bytes = larger;
  }
}

/** Values that take little memory, as they are. */
class ListedValues<Value extends boolean | bigint> implements ColumnValues<Value> {
  #values: (Value | null)[] = [];

  add(value: Value | null): void {
    this.#values.push(value);
  }

  decoded(): (Value | null)[] {
    return this.#values;
  }

  clear(): void {
    this.#values = [];
  }
}

/** A column of the table in a Parquet file, and its values in the row group that is being filled. */
interface ParquetColumn {
  name: keyof FeedbackRecord;
  type: Omit<SchemaElement, 'name'>;
  /** Whether to write each group's least and greatest value, so that readers can skip groups. */
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
function parquetColumns(): ParquetColumn[] {
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

function column<Value extends string | bigint | boolean>(
  type: ParquetColumn['type'],
  { bounds, ...repetition }: Facts,
  values: ColumnValues<Value>,
  read: Read<Value>,
): Unnamed {
  return {
    type: { ...type, ...repetition },
    bounds,
    values,
    add(record) {
      const value = read(record);
      values.add(value);
      return typeof value === 'string' ? value.length : 0;
    },
  };
}

function text(facts: Facts, read: Read<string>): Unnamed {
  const type = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const;
  return column(type, facts, new TextValues(), read);
}

/** Milliseconds since the epoch. */
function instant(facts: Facts, read: Read<string>): Unnamed {
  const timestamp = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const;
  const type = { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', logical_type: timestamp } as const;
  return column(type, facts, new ListedValues<bigint>(), (record) => {
    const value = read(record);
    if (value === null) return null;
    const ms = Date.parse(value);
    if (Number.isNaN(ms)) {
      throw new Error(`entry ${record.id} of project ${record.project_id} has ${value} where a UTC time has to be`);
    }
    return BigInt(ms);
  });
}

function flag(facts: Facts, read: Read<boolean>): Unnamed {
  return column({ type: 'BOOLEAN' }, facts, new ListedValues<boolean>(), read);
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
    const columnData = columns.map(({ name, bounds, values }) => ({
      name,
      statistics: bounds,
      // The library reads one column after the other, so only one is decoded at a time.
      get data() {
        return values.decoded();
      },
    }));
    void file.write({ columnData, rowGroupSize: rows });
    for (const { values } of columns) values.clear();
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
      for (const column of columns) characters += column.add(record);
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
