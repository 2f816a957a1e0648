import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { RecordEncoder } from './file-format.ts';
import { parquetColumns } from './parquet-columns.ts';

/**
 * A row group ends at this many rows or characters of text, whichever comes first: it stays in memory until it is
 * encoded, however much people wrote. Readers skip whole groups by their dates.
 */
const rowsOfGroup = 10_000;
const charactersOfGroup = 8 * 1024 * 1024;

/**
 * Parquet with the columns of the table (feedback-files.md), compressed with Snappy, which every reader has. `add`
 * throws an Error naming the entry where a time cannot be understood.
 */
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
