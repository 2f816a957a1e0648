import type { Reason } from '../rules/archive-facts.ts';
import type { VerificationReport } from './verification-report.ts';

/** The result of opening sampled pages of a site in a browser. */
export interface Rendering {
  /** Pages that were opened. */
  pages: string[];
  /** Why the archive is refused. */
  reasons: Reason[];
  warnings: Reason[];
}

/** The report of an archive, together with the result of rendering it. */
export function withRendering(report: VerificationReport, { reasons, warnings }: Rendering): VerificationReport {
  return {
    ...report,
    ok: report.ok && reasons.length === 0,
    reasons: [...report.reasons, ...reasons],
    warnings: [...report.warnings, ...warnings],
  };
}
