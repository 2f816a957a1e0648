import { longestReason } from '../../model/export/site-export.ts';
import { usageFailure } from '../failures/cli-failure.ts';

/** Why somebody does something, without blanks around; null when it is not said. Throws a usage failure. */
export function reasonFlag(text: string | undefined): string | null {
  const reason = text?.trim() ?? '';
  if (reason.length <= longestReason) return reason || null;
  throw usageFailure(`--reason has ${reason.length} characters, expected at most ${longestReason}`);
}
