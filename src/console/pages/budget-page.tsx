import type { WindowView } from '../../budget/rules/permits.ts';
import { forgotten } from '../../budget/rules/window-view.ts';
import { visible } from '../../feedback/report/figure.ts';
import { spanText } from '../../rules/text.ts';
import { targetName, targetOfWorkflowId } from '../../rules/workflow-ids.ts';
import type { OrganizationBudget } from '../readings/facts.ts';
import { Page } from './layout.tsx';
import { Act, Aged, DoneAt, Facts, TableHead, Troubles, targetAddress, type Viewer, When } from './parts.tsx';

interface Budgets {
  viewer: Viewer;
  budgets: readonly OrganizationBudget[];
  at: number;
  late: boolean;
}

/** The window of each organization. */
export function BudgetPage({ viewer, budgets, at, late }: Budgets) {
  return (
    <Page title="Budget" viewer={viewer} at="/budget" events="/events?of=budget">
      <p class="under">
        How many analytics requests each organization may send the service within a window. Passes wait for free ones.
      </p>
      <div id="budgets-age" data-live>
        <Aged at={at} late={late} />
      </div>
      {budgets.map(({ org, view, trouble }) => (
        <section id={`budget-${org}`} data-live aria-labelledby={`title-${org}`}>
          <h2 id={`title-${org}`}>{org}</h2>
          {trouble !== null && <Troubles troubles={[trouble]} />}
          {view !== null && <Window viewer={viewer} org={org} view={view} at={at} />}
        </section>
      ))}
    </Page>
  );
}

const pauses = {
  paused: 'paused by hand',
  throttled: 'paused by the service (429)',
  unauthorized: 'paused by a refused key (401)',
} as const;

function Window({ viewer, org, view, at }: { viewer: Viewer; org: string; view: WindowView; at: number }) {
  const { limit, reserve, windowMs, used, available, pausedBy, pausedUntil, nextFreeAt, otherClients, override } = view;
  const last = view.releases.at(-1);
  return (
    <div class="acts">
      <Facts
        facts={[
          [
            'used',
            <>
              <progress max={limit} value={Math.min(used, limit)} aria-label={`Used of ${org}`} />{' '}
              {`${used} of ${limit} in ${spanText(windowMs)}`}
            </>,
          ],
          ['free now', `${available}`],
          nextFreeAt !== null && [
            'next free',
            <>
              <When at={nextFreeAt} />
              {`, in ${spanText(Math.max(0, nextFreeAt - at))}`}
            </>,
          ],
          view.countsAsFullUntil !== null && [
            'counts as full',
            <>
              {`${forgotten}: nothing is granted until `}
              <When at={view.countsAsFullUntil} />
            </>,
          ],
          last !== undefined && ['all free again', <When at={last} />],
          pausedBy !== null && [
            'state',
            <>
              <span class="state bad">{pauses[pausedBy]}</span>
              {pausedUntil !== null && (
                <>
                  {' until '}
                  <When at={pausedUntil} />
                </>
              )}
            </>,
          ],
          ['kept for others', `${reserve}${otherClients === null ? '' : `; other clients use about ${otherClients}`}`],
          override !== null && [
            'override',
            <>
              {override.requests !== undefined && `${override.requests} requests `}
              {override.reserve !== undefined && `reserve ${override.reserve} `}
              {override.until === null ? 'until ended by hand' : 'until '}
              {override.until !== null && <When at={override.until} />}
            </>,
          ],
          ...view.programs.map(
            ({ workflowId, used: held, share }) =>
              [visible(workflowId), `${held} used${share === null ? '' : `, at most ${share} %`}`] as const,
          ),
        ]}
      />
      <Askers view={view} />
      <Acts viewer={viewer} org={org} view={view} />
    </div>
  );
}

function Askers({ view: { holders, waiters } }: { view: WindowView }) {
  if (holders.length + waiters.length === 0) return <p class="quiet">No requests in use or queued.</p>;
  const rows = [
    ...holders.map((one) => ({ ...one, what: `uses ${one.permits}`, expectedAt: null })),
    ...waiters.map((one) => ({ ...one, what: 'waits' })),
  ];
  return (
    <div class="scroll">
      <table class="cards">
        <TableHead columns={['who', 'what', 'class', 'since', 'next', 'done']} />
        <tbody>
          {rows.map(({ workflowId, what, class: kind, since, expectedAt, forecast }) => (
            <tr>
              <th scope="row">
                <Asker id={`${what}-${workflowId}`} workflowId={workflowId} />
              </th>
              <td data-name="what">{what}</td>
              <td data-name="class">{kind}</td>
              <td data-name="since">
                <When at={since} />
              </td>
              <td data-name="next">{expectedAt !== null && <When at={expectedAt} />}</td>
              <td data-name="done">{forecast !== null && <DoneAt forecast={forecast} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A pass or export by its name and with its page; any other program by its id. */
function Asker({ id, workflowId }: { id: string; workflowId: string }) {
  const target = targetOfWorkflowId(workflowId);
  if (target === null) return <>{visible(workflowId)}</>;
  return (
    <a id={id} href={targetAddress(target)}>
      {visible(targetName(target))}
    </a>
  );
}

function Acts({ viewer, org, view }: { viewer: Viewer; org: string; view: WindowView }) {
  const address = `/budget/${encodeURIComponent(org)}`;
  return (
    <>
      {view.pausedBy === 'paused' ? (
        <Act viewer={viewer} action={`${address}/resume`} label="Resume" />
      ) : (
        <Act viewer={viewer} action={`${address}/pause`} label="Pause …" about="Pause all requests">
          <For id={`pause-${org}`} />
        </Act>
      )}
      {view.override === null ? (
        <Act viewer={viewer} action={`${address}/set`} label="Override" about="Override limits temporarily">
          <Count id={`requests-${org}`} name="requests" label="Requests" />
          <Count id={`reserve-${org}`} name="reserve" label="Kept for others" />
          <For id={`set-${org}`} />
        </Act>
      ) : (
        <Act viewer={viewer} action={`${address}/reset`} label="End the override" />
      )}
    </>
  );
}

function Count({ id, name, label }: { id: string; name: string; label: string }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="number" name={name} min={0} max={999_999_999} step={1} />
    </div>
  );
}

function For({ id }: { id: string }) {
  return (
    <div class="field">
      <label for={id}>For</label>
      <select id={id} name="for">
        <option value="15m">15 minutes</option>
        <option value="1h">1 hour</option>
        <option value="8h">8 hours</option>
        <option value="1d">1 day</option>
        <option value="open">until ended by hand</option>
      </select>
    </div>
  );
}
