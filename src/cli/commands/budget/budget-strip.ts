import type { WindowView } from '../../../budget/rules/permits.ts';
import { momentText } from '../../../rules/details-text.ts';
import type { Paint } from '../../terminal/output.ts';

const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Cells of a strip if the terminal is wide enough. */
export const stripWidth = 50;

/** The limit as a strip: used, free, left to others. */
export function windowStrip({ limit, used, reserve }: WindowView, paint: Paint, width = stripWidth): string {
  const cells = (count: number) => Math.round((Math.max(0, count) / limit) * width);
  const occupied = Math.min(width, cells(used));
  const others = Math.min(width - occupied, cells(Math.min(reserve, limit - used)));
  const free = width - occupied - others;
  return `${paint.cyan('█'.repeat(occupied))}${'░'.repeat(free)}${paint.dim('▒'.repeat(others))}`;
}

/** When occupied slots come free over the next window: the higher, the more. */
export function releaseStrip(
  { releases, windowMs }: WindowView,
  now: number,
  paint: Paint,
  width = stripWidth,
): string {
  const counts = Array.from({ length: width }, () => 0);
  for (const moment of releases) {
    const place = Math.min(width - 1, Math.max(0, Math.floor(((moment - now) / windowMs) * width)));
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const most = Math.max(...counts);
  const strip = counts.map((count) => (count === 0 ? '·' : heights[Math.ceil((count / most) * heights.length) - 1]));
  return `${paint.cyan(strip.join(''))} ${paint.dim(`until ${momentText(now + windowMs, now)}`)}`;
}
