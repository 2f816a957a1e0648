import type { RecordFormat } from '../feedback/export-format.ts';
import type { FeedbackRecord } from '../feedback/feedback-record.ts';

/** Characters of a piece, or a little more: enough to make writing cheap; larger ones only cost memory. */
const pieceLength = 64 * 1024;

/** What has been turned into text so far. */
export class Tally {
  /** The projects begun, the present one last. */
  readonly projects: { org: string; project: string; rows: number }[] = [];
  readonly met = { sources: new Set<string>(), statuses: new Set<string>() };

  get rows(): number {
    return this.projects.reduce((sum, { rows }) => sum + rows, 0);
  }
}

/**
 * The records of projects, one project after the other, as text in pieces of a size that suits writing. The tally is
 * up to date when a piece is handed out.
 */
export async function* recordText(
  projects: readonly { org: string; project: string }[],
  read: (project: { org: string; project: string }) => AsyncIterable<FeedbackRecord>,
  format: RecordFormat,
  tally: Tally,
): AsyncGenerator<string, void, undefined> {
  let piece = format.header;
  for (const { org, project } of projects) {
    const counted = { org, project, rows: 0 };
    tally.projects.push(counted);
    for await (const record of read(counted)) {
      counted.rows += 1;
      tally.met.sources.add(record.source);
      tally.met.statuses.add(record.status);
      piece += format.line(record);
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = '';
    }
  }
  if (piece !== '') yield piece;
}
