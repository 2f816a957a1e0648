import type { Child } from 'hono/jsx';
import type { ExportRunRow } from '../../feedback/store/run-records.ts';
import type { Deed } from '../../runs/rules/audit.ts';
import { type EndDetail, isBadEnd, whyEnded } from '../../exports/rules/export-outcome.ts';
import { deedWords } from './audit-words.ts';
import { Foreign, When } from './parts.tsx';
import { Outcome, Why } from './run-end.tsx';
import { TableHead } from './table-head.tsx';

/** Something that happened to a site. */
interface Happened {
  at: string;
  what: Child;
  version: string | null;
  /** Null for what no person did by hand. */
  who: string | null;
  why: Child;
}

/** How exports ended and what people did, newest first. */
export function History({ runs, deeds }: { runs: readonly ExportRunRow[] | null; deeds: readonly Deed[] | null }) {
  if (runs === null && deeds === null) return null;
  const rows = [...(runs ?? []).map(ended), ...(deeds ?? []).map(done)].sort((a, b) => b.at.localeCompare(a.at));
  return (
    <section aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      {rows.length === 0 ? (
        <p class="quiet">No export has ended yet, and no person did anything by hand.</p>
      ) : (
        <div class="scroll">
          <table class="cards">
            <TableHead columns={['what', 'when', 'version', 'who', 'why']} />
            <tbody>
              {rows.map((row) => (
                <Row row={row} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Row({ row: { at, what, version, who, why } }: { row: Happened }) {
  return (
    <tr>
      <th scope="row">{what}</th>
      <td data-name="when">
        <When at={at} />
      </td>
      <td data-name="version">{version ?? '–'}</td>
      <td data-name="who">{who === null ? '–' : <Foreign text={who} />}</td>
      <td data-name="why">{why}</td>
    </tr>
  );
}

function ended({ finishedAt, outcome, version, detail }: ExportRunRow): Happened {
  const end = JSON.parse(detail) as EndDetail;
  const why = whyEnded(end);
  return {
    at: finishedAt,
    what: <Outcome outcome={outcome} isBad={isBadEnd(outcome, end)} />,
    version,
    who: null,
    why: why !== '' && <Why reason={why} />,
  };
}

function done({ at, action, who, reason, detail }: Deed): Happened {
  const { version = null } = JSON.parse(detail) as { version?: string | null };
  return { at, what: deedWords[action] ?? action, version, who, why: reason !== null && <Foreign text={reason} /> };
}
