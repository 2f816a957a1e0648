import type { LineFormat, RecordEncoder } from './file-format.ts';

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
