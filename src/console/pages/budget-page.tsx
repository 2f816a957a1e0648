import { forgotten, pauseWords, usedText, type WindowView } from '../../budget/rules/window-view.ts';
import { visible } from '../../feedback/report/figure.ts';
import { delayText, type ExpectedDelays } from '../../feedback/rules/refresh/expected.ts';
import { counted, countText, spanText } from '../../rules/text.ts';
import { targetAddress, targetName, targetOfWorkflowId } from '../../rules/workflow-ids.ts';
import { times } from '../actions.ts';
import type { OrganizationBudget } from '../readings/console-reader.ts';
import { Page } from './layout.tsx';
import {
  Act,
  DoneAt,
  Foreign,
  Health,
  type HealthLook,
  Labelled,
  Section,
  Table,
  Troubles,
  useMayAct,
  When,
} from './parts.tsx';

/** Each organization's window on one line, and who asks for requests. */
export function BudgetPage({ budgets }: { budgets: readonly OrganizationBudget[] }) {
  return (
    <Page title="Budget" at="/budget" events="/events?of=budget">
      <p class="under">
        How many analytics requests each organization may send the service within a window. Passes wait for free ones.
      </p>
      <div id="budgets" data-live>
        <Troubles troubles={budgets.flatMap(({ trouble }) => trouble ?? [])} />
        <Table
          caption="Windows"
          look="windows"
          rows={budgets}
          columns={[
            [
              'organization',
              ({ org, view }) => (
                <>
                  <Health {...healthOf(view)} />
                  <Foreign text={org} />
                </>
              ),
            ],
            ['used', ({ org, view }) => (view === null ? 'unknown' : <Used org={org} view={view} />)],
            ['free', ({ view }) => view && <Free view={view} />],
            ['kept for others', ({ view }) => view && reserveText(view)],
            ['state', ({ view }) => view && <State view={view} />],
            [
              'planned delay',
              ({ promised }) => (promised === null ? <span class="quiet">–</span> : promiseText(promised)),
            ],
            useMayAct() && ['', ({ org, view }) => view && <Menu org={org} view={view} />],
          ]}
        />
        <Askers budgets={budgets} />
      </div>
    </Page>
  );
}

function healthOf(view: WindowView | null): { look: HealthLook; text: string } {
  if (view === null) return { look: 'none', text: 'unknown' };
  if (view.pausedBy !== null) return { look: 'bad', text: pauseWords[view.pausedBy] };
  return view.available === 0 ? { look: 'wait', text: 'full' } : { look: 'good', text: 'free' };
}

function Used({ org, view }: { org: string; view: WindowView }) {
  const { limit, used, windowMs } = view;
  return (
    <>
      <progress max={limit} value={Math.min(used, limit)} aria-label={`Used of ${org}`} />{' '}
      {usedText(view, ` in ${spanText(windowMs)}`)}
    </>
  );
}

function Free({ view: { available, nextFreeAt } }: { view: WindowView }) {
  return (
    <>
      {countText(available)}
      {nextFreeAt !== null && (
        <>
          {', next '}
          <When at={nextFreeAt} />
        </>
      )}
    </>
  );
}

/** Of the slowest project. */
const promiseText = ({ newMostMs, statusMs, silentMs }: ExpectedDelays): string =>
  (
    [
      ['new', newMostMs],
      ['status', statusMs],
      ['silent edits', silentMs],
    ] as const
  )
    .flatMap(([name, ms]) => (ms === null ? [] : `${name} ${delayText(ms)}`))
    .join(', ') || 'nothing is known yet';

const reserveText = ({ reserve, otherClients }: WindowView): string =>
  `${reserve}${otherClients === null ? '' : `; they use about ${otherClients}`}`;

function State({ view }: { view: WindowView }) {
  const { pausedBy, pausedUntil, countsAsFullUntil, override, programs } = view;
  return (
    <>
      {pausedBy !== null && <span class="state bad">{pauseWords[pausedBy]}</span>}
      {pausedBy !== null && pausedUntil !== null && (
        <>
          {pausedBy === 'unauthorized' ? ', next try ' : ', ends '}
          <When at={pausedUntil} />
          {pausedBy === 'unauthorized' && ', or at once by `docferry doctor --key`'}
        </>
      )}
      {countsAsFullUntil !== null && (
        <div>
          {`${forgotten}: counts as full until `}
          <When at={countsAsFullUntil} />
        </div>
      )}
      {override !== null && (
        <div>
          override:{override.requests !== undefined && ` ${counted(override.requests, 'request')}`}
          {override.reserve !== undefined && ` reserve ${override.reserve}`}
          {override.until === null ? ' until ended by hand' : ', ends '}
          {override.until !== null && <When at={override.until} />}
          {override.by !== undefined && (
            <>
              {', by '}
              <Foreign text={override.by} />
            </>
          )}
        </div>
      )}
      {programs.map(({ workflowId, used: held, share }) => (
        <div>
          <Foreign text={workflowId} />
          {`: ${held} used${share === null ? '' : `, at most ${share} %`}`}
        </div>
      ))}
    </>
  );
}

function Askers({ budgets }: { budgets: readonly OrganizationBudget[] }) {
  const rows = budgets.flatMap(({ org, view }) => [
    ...(view?.holders ?? []).map((one) => ({ ...one, org, what: `uses ${one.permits}`, expectedAt: null })),
    ...(view?.waiters ?? []).map((one) => ({ ...one, org, what: 'waits' })),
  ]);
  return (
    <Section id="askers" title="Requests in use or queued">
      {rows.length === 0 ? (
        <p class="quiet">No requests in use or queued.</p>
      ) : (
        <Table
          caption="Requests in use or queued"
          look="dense"
          rows={rows}
          columns={[
            ['who', ({ what, workflowId }) => <Asker id={`${what}-${workflowId}`} workflowId={workflowId} />],
            ['organization', ({ org }) => org],
            ['what', ({ what }) => what],
            ['class', ({ class: kind }) => kind],
            ['since', ({ since }) => <When at={since} />],
            ['next', ({ expectedAt }) => expectedAt !== null && <When at={expectedAt} />],
            ['done', ({ forecast }) => forecast !== null && <DoneAt forecast={forecast} />],
          ]}
        />
      )}
    </Section>
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

/** Controls for emergencies: seldom needed, so below everything else. */
function Menu({ org, view }: { org: string; view: WindowView }) {
  const address = `/budget/${encodeURIComponent(org)}`;
  return (
    <details class="menu" id={`menu-${org}`}>
      <summary>
        Pause or override …<span class="unseen">{` the budget of ${org}`}</span>
      </summary>
      <div>
        {view.pausedBy === 'paused' ? (
          <Act action={`${address}/resume`} label="Resume" />
        ) : (
          <Act action={`${address}/pause`} label="Pause …" about="Pause all requests">
            <For id={`pause-${org}`} />
          </Act>
        )}
        {view.override === null ? (
          <Act action={`${address}/set`} label="Override" about="Override limits temporarily">
            <Count id={`requests-${org}`} name="requests" label="Requests" />
            <Count id={`reserve-${org}`} name="reserve" label="Kept for others" />
            <For id={`set-${org}`} />
          </Act>
        ) : (
          <Act action={`${address}/reset`} label="End the override" />
        )}
      </div>
    </details>
  );
}

function Count({ id, name, label }: { id: string; name: string; label: string }) {
  return (
    <Labelled id={id} label={label}>
      <input id={id} type="number" name={name} min={0} max={999_999_999} step={1} />
    </Labelled>
  );
}

function For({ id }: { id: string }) {
  return (
    <Labelled id={id} label="For">
      <select id={id} name="for">
        {times.map(([value, text]) => (
          <option value={value}>{text}</option>
        ))}
      </select>
    </Labelled>
  );
}
