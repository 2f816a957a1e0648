import type { Forecast, WindowView } from '../../budget/rules/permits.ts';
import { spanText } from '../../rules/details-text.ts';
import { type ReadingKind, readingKinds } from '../../feedback/rules/pass-kind.ts';
import { syncWorkflowId } from '../../rules/workflow-ids.ts';
import type { KnownProject } from '../readings/console-reader.ts';
import { DoneAt, Facts, When } from './parts.tsx';

interface Budget {
  project: KnownProject;
  /** Null when it is unknown. */
  budget: WindowView | null;
}

/** What the organization's budget does for the project: what its passes hold, and when those that wait continue. */
export function BudgetForProject({ project, budget }: Budget) {
  return (
    <section aria-labelledby="budget-title">
      <h2 id="budget-title">Budget</h2>
      <div class="acts">
        {budget === null ? <p class="quiet">unknown</p> : <Share project={project} budget={budget} />}
        <p>
          <a id="to-budget" href="/budget">{`The whole budget of ${project.org}`}</a>
        </p>
      </div>
    </section>
  );
}

function Share({ project, budget }: { project: KnownProject; budget: WindowView }) {
  const { limit, used, windowMs, available, nextFreeAt } = budget;
  const asking = askersOf(project, budget);
  return (
    <Facts
      facts={[
        ['this project', asking.length === 0 ? 'holds nothing and waits for nothing' : null],
        ...asking.map(
          ({ pass, permits, place, expectedAt, forecast }) =>
            [
              pass,
              <>
                {permits > 0 && `uses ${permits} now `}
                {place !== null && `waits, place ${place} of ${budget.waiters.length} `}
                {expectedAt !== null && (
                  <>
                    until <When at={expectedAt} />
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
        ['all together', `${used} of ${limit} used in ${spanText(windowMs)}, ${available} free`],
        nextFreeAt !== null && ['next free', <When at={nextFreeAt} />],
      ]}
    />
  );
}

interface Asker {
  pass: ReadingKind;
  /** Requests that are under way. */
  permits: number;
  /** Among those that wait, from 1 on; null when it does not wait. */
  place: number | null;
  expectedAt: number | null;
  forecast: Forecast | null;
}

function askersOf({ org, project }: KnownProject, { holders, waiters }: WindowView): Asker[] {
  return readingKinds.flatMap((pass): Asker[] => {
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
