import { barText } from '../../rules/details-text.ts';
import type { Paint } from './output.ts';

/** A progress bar with its percentage; an empty bar when the progress is unknown. */
export function bar(percent: number | null, paint: Paint): string {
  if (percent === null) return paint.dim(barText(0));
  const shown = Math.min(100, Math.max(0, percent));
  return `${paint.green(barText(shown))} ${Math.floor(shown)} %`;
}
