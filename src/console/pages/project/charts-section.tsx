import { raw } from 'hono/html';
import type { ReportFigures } from '../../../model/report/report-figures.ts';

const drawn = new WeakMap<ReportFigures, string>();

/** The report's key figures and charts, drawn once for everybody. */
export async function drawCharts(figures: ReportFigures): Promise<string> {
  const before = drawn.get(figures);
  if (before !== undefined) return before;
  // Loads the chart library, which no other page needs.
  const { chartsOf } = await import('../../../report/project-part.ts');
  const text = chartsOf(figures, 'feedback').toString();
  drawn.set(figures, text);
  return text;
}

/** What readers say, as the report shows it. */
export function Charts({ charts }: { charts: string | null }) {
  return (
    <section aria-labelledby="charts-title">
      <h2 id="charts-title">What readers say</h2>
      {charts === null ? (
        <p class="quiet">The entries are being counted. Load the page again in a moment.</p>
      ) : (
        raw(charts)
      )}
    </section>
  );
}
