import { boundsProblem } from '../feedback/rules/pass-bounds.ts';
import { usageFailure } from './cli-failure.ts';

/** `--from` and `--to`, as far as they are given. Throws a usage failure when they are not dates in this order. */
export function dateRange({ from, to }: { from?: string; to?: string }): { from?: string; to?: string } {
  const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const wrong = boundsProblem(range);
  if (wrong) throw usageFailure(`--${wrong.field} is ${JSON.stringify(wrong.held)}: it ${wrong.problem}`);
  return range;
}
