import { raw } from 'hono/html';
import type { Forecast } from '../../budget/rules/permits.ts';
import { standstillText, usedText, type WindowView, waitText } from '../../budget/rules/window-view.ts';
import type { StoredProject } from '../../feedback/figures/project-figures.ts';
import { visible } from '../../feedback/report/figure.ts';
import {
  delaysText,
  firstReadingText,
  measuredText,
  type ProjectDelays,
} from '../../feedback/rules/refresh/expected.ts';
import { type PassKind, passKinds, type SyncState } from '../../feedback/rules/sync.ts';
import type { Project } from '../../operations/operator.ts';
import { counted, countText, spanText } from '../../rules/text.ts';
import { syncWorkflowId } from '../../rules/workflow-ids.ts';
import type { KnownProject, ProjectFacts } from '../readings/console-reader.ts';
import { feedbackAddress } from '../readings/feedback-query.ts';
import { Page } from './layout.tsx';
import {
  Act,
  Choice,
  DoneAt,
  Facts,
  Outcome,
  projectAddress,
  Retries,
  Section,
  Table,
  Troubles,
  When,
  Why,
} from './parts.tsx';

interface Budget {
  project: KnownProject;
  /** Null when it is unknown. */
  budget: WindowView | null;
}

/** What the organization's budget does for the project: what its passes hold, and when those that wait continue. */
function BudgetForProject({ project, budget }: Budget) {
  return (
    <Section id="budget" title="Budget">
      <div class="acts">
        {budget === null ? <p class="quiet">unknown</p> : <Share project={project} budget={budget} />}
        <p>
          <a id="to-budget" href="/budget">{`The whole budget of ${project.org}`}</a>
        </p>
      </div>
    </Section>
  );
}

function Share({ project, budget }: { project: KnownProject; budget: WindowView }) {
  const { windowMs, available, nextFreeAt } = budget;
  const asking = askersOf(project, budget);
  return (
    <Facts
      facts={[
        ['this project', asking.length === 0 ? 'No requests in use or queued' : null],
        ...asking.map(
          ({ pass, permits, place, expectedAt, forecast }) =>
            [
              pass,
              <>
                {permits > 0 && `uses ${permits} now `}
                {place !== null && `waits, ${place} of ${budget.waiters.length} in the queue; `}
                {expectedAt !== null && (
                  <>
                    next try <When at={expectedAt} />
                  </>
                )}
                {forecast !== null && (
                  <div class="fine">
                    done <DoneAt forecast={forecast} />
                  </div>
                )}
              </>,
            ] as const,
        ),
        ['all together', `${usedText(budget, ` used in ${spanText(windowMs)}`)}, ${available} free`],
        nextFreeAt !== null && ['next free', <When at={nextFreeAt} />],
      ]}
    />
  );
}

interface Asker {
  pass: PassKind;
  /** Requests that are under way. */
  permits: number;
  /** Among those that wait, from 1 on; null when it does not wait. */
  place: number | null;
  expectedAt: number | null;
  forecast: Forecast | null;
}

function askersOf({ org, project }: KnownProject, { holders, waiters }: WindowView): Asker[] {
  return passKinds.flatMap((pass): Asker[] => {
    const id = syncWorkflowId(org, project, pass);
    const holder = holders.find(({ workflowId }) => workflowId === id) ?? null;
    const waiter = waiters.find(({ workflowId }) => workflowId === id) ?? null;
    if (holder === null && waiter === null) return [];
    return [
      {
        pass,
        permits: holder?.permits ?? 0,
        place: waiter && waiters.indexOf(waiter) + 1,
        expectedAt: waiter?.expectedAt ?? null,
        forecast: (waiter ?? holder)?.forecast ?? null,
      },
    ];
  });
}

/** What readers say, as the report shows it; null while the entries are counted, or cannot be. */
function Charts({ charts }: { charts: string | null }) {
  return (
    <Section id="charts" title="What readers say">
      {charts === null ? <p class="quiet">The charts are not ready yet. Reload in a moment.</p> : raw(charts)}
    </Section>
  );
}

/** The passes that were begun last, and how they ended. */
function Passes({ stored }: { stored: StoredProject | null }) {
  if (stored === null) return null;
  return (
    <Section id="passes" title="Passes">
      {stored.passes.length === 0 ? (
        <p class="quiet">None yet. A pass is one reading of the project’s feedback.</p>
      ) : (
        <Table
          caption="Passes, newest first"
          look="dense log passes"
          rows={stored.passes}
          columns={[
            ['pass', ({ pass }) => pass],
            ['outcome', ({ outcome }) => <Outcome outcome={outcome} isBad={outcome === 'failed'} />],
            ['started', ({ startedAt }) => <When at={startedAt} />],
            ['requests', ({ requests }) => countText(requests)],
            ['seen', ({ entries }) => countText(entries.seen)],
            ['new', ({ entries }) => countText(entries.inserted)],
            ['changed', ({ entries }) => countText(entries.updated)],
            ['deleted', ({ entries }) => countText(entries.tombstoned)],
            ['why', ({ error }) => error !== null && <Why reason={error} />],
          ]}
        />
      )}
    </Section>
  );
}

const passes = ['incremental', 'review', 'sweep'] as const;

/** The passes that run, and a form that starts one. */
function RunningPasses({ org, project, running }: Project & Pick<ProjectFacts, 'running'>) {
  const address = projectAddress(org, project);
  return (
    <div class="acts">
      {running === null && <p class="quiet">unknown</p>}
      {running?.length === 0 && <p class="quiet">Nothing runs.</p>}
      {running?.map(({ pass, runId, state, retries }) => (
        <div class="acts">
          <Progress pass={pass} state={state} />
          <Retries retries={retries} />
          <Act action={`${address}/cancel`} label={`Cancel the ${pass} …`} fields={{ pass, run: runId }} />
        </div>
      ))}
      <Act action={`${address}/sync`} label="Sync now" first>
        <Choice name="pass" label="Pass" value="" all="Automatic" options={passes.map((pass) => [pass, pass])} />
      </Act>
    </div>
  );
}

function Progress({ pass, state }: { pass: string; state: SyncState | null }) {
  if (state === null) return <p>{`${pass}: running; progress unknown, no worker answers`}</p>;
  const { phase, progress, waiting, forecast } = state;
  return (
    <Facts
      facts={[
        ['pass', pass],
        [
          'phase',
          <span class={phase === 'unauthorized' ? 'state bad' : 'state wait'}>{phase.replaceAll('-', ' ')}</span>,
        ],
        progress !== null && [
          'so far',
          `${counted(progress.pages, 'page')}, ${counted(progress.entries.seen, 'entry', 'entries')}`,
        ],
        waiting !== null && [
          'waits',
          <>
            {`${waitText[waiting.reason]}; number ${waiting.place} in the queue, next try `}
            <When at={waiting.until} />
            {waiting.behind.length > 0 && `, behind ${waiting.behind.map(visible).join(', ')}`}
          </>,
        ],
        forecast !== null && ['done', <DoneAt forecast={forecast} />],
      ]}
    />
  );
}

interface ShownProject {
  project: KnownProject;
  facts: ProjectFacts;
  /** As HTML; null while they are made, or cannot be. */
  charts: string | null;
}

/** All about the feedback of one project. */
export function ProjectPage({ project: known, facts, charts }: ShownProject) {
  const { org, project, name } = known;
  const { running, stored, delays, budget, troubles } = facts;
  return (
    <Page
      title={name ?? project}
      events={`/events?of=project&org=${encodeURIComponent(org)}&name=${encodeURIComponent(project)}`}
    >
      <p class="under">
        {name === null ? `Feedback of ${org}` : `Feedback of ${org}, project ${project}`}:{' '}
        <a href={feedbackAddress({ project })}>search its entries</a>
      </p>
      <div id="now" data-live>
        <Troubles troubles={troubles} />
        <div class="split">
          <Section id="stored" title="Stored">
            {stored === null ? <p class="quiet">unknown</p> : <Stored {...{ stored, delays, budget }} />}
          </Section>
          <Section id="running" title="Running">
            <RunningPasses org={org} project={project} running={running} />
          </Section>
        </div>
        <BudgetForProject project={known} budget={budget} />
      </div>
      <div id="passes" data-live>
        <Passes stored={stored} />
      </div>
      <div id="charts" data-live>
        <Charts charts={charts} />
      </div>
    </Page>
  );
}

interface StoredNow {
  stored: StoredProject;
  delays: ProjectDelays | null;
  budget: WindowView | null;
}

function Stored({ stored, delays, budget }: StoredNow) {
  const standstill = budget && standstillText(budget, Date.now());
  const { entries, rejects, tombstones, watermark, verifiedUpTo, firstReading } = stored;
  return (
    <Facts
      facts={[
        standstill !== null && ['stands still', <span class="state bad">{standstill}</span>],
        firstReading !== null && ['first reading', firstReadingText(firstReading)],
        ['complete as of', verifiedUpTo === null ? 'not verified yet' : <When at={verifiedUpTo} />],
        delays?.expected != null && ['expected', delaysText(delays.expected)],
        delays?.measured != null && ['measured', measuredText(delays.measured)],
        ['entries', countText(entries)],
        rejects > 0 && ['not understood', countText(rejects)],
        tombstones > 0 && ['deleted at the service', countText(tombstones)],
        ['newest entry', watermark === null ? 'not known yet' : <When at={watermark} />],
      ]}
    />
  );
}
