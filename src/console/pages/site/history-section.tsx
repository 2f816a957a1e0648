import type { ExportRunRow } from '../../../feedback/runs/run-records.ts';
import type { Deed, DeedAction } from '../../../model/deed.ts';
import { type EndDetail, whyEnded } from '../../../model/export/export-outcome.ts';
import { Foreign, When } from '../parts.tsx';
import { TableHead } from '../table-head.tsx';

/** Something that happened to a site. */
interface Happened {
  at: string;
  what: string;
  isBad: boolean;
  version: string | null;
  /** Null for what no person did by hand. */
  who: string | null;
  why: string;
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

function Row({ row: { at, what, isBad, version, who, why } }: { row: Happened }) {
  return (
    <tr>
      <th scope="row" class={isBad ? 'state bad' : undefined}>
        {what}
      </th>
      <td data-name="when">
        <When at={at} />
      </td>
      <td data-name="version">{version ?? '–'}</td>
      <td data-name="who">{who === null ? '–' : <Foreign text={who} />}</td>
      <td data-name="why">{why !== '' && <Foreign text={why} />}</td>
    </tr>
  );
}

function ended({ finishedAt, outcome, version, detail }: ExportRunRow): Happened {
  const why = whyEnded(JSON.parse(detail) as EndDetail);
  return { at: finishedAt, what: outcomeText(outcome), isBad: bad.has(outcome), version, who: null, why };
}

function done({ at, action, who, reason, detail }: Deed): Happened {
  const { version = null } = JSON.parse(detail) as { version?: string | null };
  return { at, what: words[action] ?? action, isBad: false, version, who, why: reason ?? '' };
}

/** An outcome as people read it. */
export const outcomeText = (outcome: string): string => outcome.replaceAll('-', ' ');

/** Outcomes that a person should look at. */
export const bad: ReadonlySet<string> = new Set(['failed', 'rejected', 'rollout-failed']);

const words: Readonly<Partial<Record<DeedAction, string>>> = {
  approve: 'approved by hand',
  reject: 'rejected by hand',
  rollback: 'rollback ordered',
  hold: 'held',
  release: 'released',
  'start-export': 'export started',
  'cancel-export': 'export cancelled',
  'poll-now': 'polled by hand',
  'schedule-pause': 'schedule paused',
  'schedule-resume': 'schedule resumed',
  'schedule-trigger': 'scheduled run started by hand',
};
