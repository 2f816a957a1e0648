import type { Reason } from '../../../model/export/archive-facts.ts';
import type { VerificationReport } from '../verification-report.ts';

/** What sampled pages of a site showed in a browser. */
export interface Rendering {
  /** Pages that were looked at. */
  pages: string[];
  /** For which the archive is refused. */
  reasons: Reason[];
  warnings: Reason[];
}

/** The report of an archive, together with what its pages showed. */
export function withRendering(report: VerificationReport, { reasons, warnings }: Rendering): VerificationReport {
  return {
    ...report,
    ok: report.ok && reasons.length === 0,
    reasons: [...report.reasons, ...reasons],
    warnings: [...report.warnings, ...warnings],
  };
}
