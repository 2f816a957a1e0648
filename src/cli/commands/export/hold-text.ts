import type { SiteHold } from '../../../bundle/store/site-holds.ts';
import { timeText } from '../../terminal/text.ts';

/** A hold in words: where, since when, why, and what waits for its end. */
export function holdText({ version, since, reason, waiting }: SiteHold): string {
  const why = reason === null ? '' : `: ${reason}`;
  const next = waiting === null ? '' : `\n${waiting} waits for the release`;
  return `held at ${version} since ${timeText(since)} UTC${why}${next}`;
}
