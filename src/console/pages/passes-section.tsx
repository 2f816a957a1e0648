import type { StoredProject } from '../../feedback/figures/figure-store.ts';
import { countText } from '../../rules/quantities.ts';
import { When } from './parts.tsx';
import { Outcome, Why } from './run-end.tsx';
import { TableHead } from './table-head.tsx';

/** The passes that were begun last, and how they ended. */
export function Passes({ stored }: { stored: StoredProject | null }) {
  if (stored === null) return null;
  return (
    <section aria-labelledby="passes-title">
      <h2 id="passes-title">Passes</h2>
      {stored.passes.length === 0 ? (
        <p class="quiet">None yet. A pass is one reading of the project’s feedback.</p>
      ) : (
        <div class="scroll">
          <table class="cards">
            <TableHead
              columns={['pass', 'started', 'outcome', 'requests', 'seen', 'new', 'changed', 'deleted', 'why']}
            />
            <tbody>
              {stored.passes.map(({ pass, startedAt, outcome, requests, entries, error }) => (
                <tr>
                  <th scope="row">{pass}</th>
                  <td data-name="started">
                    <When at={startedAt} />
                  </td>
                  <td data-name="outcome">
                    <Outcome outcome={outcome} isBad={outcome === 'failed'} />
                  </td>
                  <td data-name="requests">{countText(requests)}</td>
                  <td data-name="seen">{countText(entries.seen)}</td>
                  <td data-name="new">{countText(entries.inserted)}</td>
                  <td data-name="changed">{countText(entries.updated)}</td>
                  <td data-name="deleted">{countText(entries.tombstoned)}</td>
                  <td data-name="why">{error !== null && <Why reason={error} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
