import { raw } from 'hono/html';

/** What readers say, as the report shows it; null while the entries are counted, or cannot be. */
export function Charts({ charts }: { charts: string | null }) {
  return (
    <section aria-labelledby="charts-title">
      <h2 id="charts-title">What readers say</h2>
      {charts === null ? (
        <p class="quiet">The charts are not ready yet. Load the page again in a moment.</p>
      ) : (
        raw(charts)
      )}
    </section>
  );
}
