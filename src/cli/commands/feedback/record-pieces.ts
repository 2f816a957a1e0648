import type { FeedbackRecord } from '../../../feedback/files/feedback-record.ts';
import type { Piece, RecordEncoder } from '../../../feedback/files/file-format.ts';

/** Counts of what has been encoded so far. */
export class Tally {
  /** The projects so far, the current one last. */
  readonly projects: { org: string; project: string; rows: number }[] = [];
  readonly met = { sources: new Set<string>(), statuses: new Set<string>() };

  get rows(): number {
    return this.projects.reduce((sum, { rows }) => sum + rows, 0);
  }
}

/** The records of projects, project by project, as pieces of a file. The tally is up to date whenever a piece is yielded. */
export async function* recordPieces(
  projects: readonly { org: string; project: string }[],
  read: (project: { org: string; project: string }) => AsyncIterable<FeedbackRecord>,
  encoder: RecordEncoder,
  tally: Tally,
): AsyncGenerator<Piece, void, undefined> {
  for (const { org, project } of projects) {
    const counted = { org, project, rows: 0 };
    tally.projects.push(counted);
    for await (const record of read(counted)) {
      counted.rows += 1;
      tally.met.sources.add(record.source);
      tally.met.statuses.add(record.status);
      const piece = encoder.add(record);
      if (piece !== null) yield piece;
    }
  }
  const last = encoder.end();
  if (last.length > 0) yield last;
}
