import { visible } from '../../feedback/report/figure.ts';
import type { Unavailable } from '../../operations/status.ts';
import { countText } from '../../rules/text.ts';
import { type ScheduleTarget, targetAddress, targetName } from '../../rules/workflow-ids.ts';
import { addressWith, fieldsIn, longestSearch } from '../readings/address.ts';
import { Page } from './layout.tsx';
import {
  Act,
  BulkBar,
  Chips,
  Foreign,
  Health,
  type HealthLook,
  NamePart,
  OrganizationChoice,
  Paging,
  pageOf,
  Table,
  Troubles,
  useMayAct,
  When,
} from './parts.tsx';

/** A schedule of the configuration, as Temporal has it. */
export interface ScheduleLine {
  /** Of the workflow that does the work, e.g. `export:acme:docs.acme.example`. */
  id: string;
  target: ScheduleTarget;
  when: string;
  /** Null when Temporal does not have it, or does not answer. */
  state: { nextAt: string | null; paused: boolean } | null;
  /** The starts after the next one, of a cron expression: it need not say much to people. */
  thenAt: readonly string[];
  running: boolean;
}

/** Filters in the page's address; an empty text matches all. */
export const scheduleQuery = (parameters: URLSearchParams) => fieldsIn(parameters, ['is', 'q', 'org', 'page']);

type ScheduleQuery = ReturnType<typeof scheduleQuery>;

const addressOf = (query: ScheduleQuery): string => addressWith('/schedules', { ...query });

interface Schedules {
  query: ScheduleQuery;
  organizations: readonly string[];
  lines: readonly ScheduleLine[];
  unavailable: readonly Unavailable[];
  at: number;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

const filters: Readonly<Record<string, (line: ScheduleLine) => boolean>> = {
  running: ({ running }) => running,
  paused: ({ state }) => state?.paused === true,
  unknown: ({ state }) => state === null,
};

/** What starts by itself, and when. */
export function SchedulesPage({ query, organizations, lines, unavailable, at }: Schedules) {
  const found = lines.filter(
    ({ target }) =>
      (query.org === '' || target.org === query.org) && targetName(target).toLowerCase().includes(query.q),
  );
  const under = (is: string) => (Object.hasOwn(filters, is) ? found.filter((line) => filters[is]?.(line)) : found);
  const shown = under(query.is).sort((a, b) => ((a.state?.nextAt ?? '~') < (b.state?.nextAt ?? '~') ? -1 : 1));
  const { page, pages, onPage } = pageOf(Number(query.page || 1), shown.length);
  return (
    <Page title="Schedules" at="/schedules" events="/events?of=overview">
      <form class="filter beside" method="get" action="/schedules">
        <NamePart name="q" label="Name contains" value={query.q} longest={longestSearch} />
        <OrganizationChoice value={query.org} organizations={organizations} />
        {query.is !== '' && <input type="hidden" name="is" value={query.is} />}
        <button type="submit">Search</button>
      </form>
      <div id="schedules" data-live>
        <Troubles troubles={unavailable} />
        {lines.length === 0 ? (
          <p class="under">No schedules are configured.</p>
        ) : (
          <>
            <Chips
              label="Filters"
              links={['', ...Object.keys(filters)].map((is) => ({
                id: `is-${is}`,
                href: addressOf({ ...query, is, page: '' }),
                isShown: query.is === is,
                text: (
                  <>
                    {is || 'all'} <b>{countText(under(is).length)}</b>
                  </>
                ),
              }))}
            />
            <NextDay lines={shown} at={at} />
            <div class="bulk-of">
              {shown.length === 0 ? <p class="under">No results.</p> : <Lines lines={onPage(shown)} at={at} />}
              <BulkBar verbs={bulkVerbs} />
            </div>
            <Paging
              page={page}
              pages={pages}
              lines={shown.length}
              to={(next) => addressOf({ ...query, page: String(next) })}
            />
          </>
        )}
      </div>
    </Page>
  );
}

const bulkVerbs = [
  ['pause', 'Pause'],
  ['resume', 'Resume'],
  ['start', 'Start now'],
] as const;

/** The next starts within a day on one line of time. */
function NextDay({ lines, at }: { lines: readonly ScheduleLine[]; at: number }) {
  const starts = lines.flatMap(({ target, state }) => {
    const moment = state?.nextAt == null ? Number.NaN : Date.parse(state.nextAt);
    // One that is due is past until its run is seen.
    return moment < at + dayMs ? [{ name: targetName(target), moment: Math.max(moment, at) }] : [];
  });
  const isKnown = lines.some(({ state }) => state !== null);
  const label = isKnown ? `${starts.length} of ${lines.length} schedules start` : 'next starts are unavailable';
  return (
    <details id="day">
      <summary>{`The next 24 hours: ${label}.`}</summary>
      <TimeLine label={label} starts={starts} at={at} />
    </details>
  );
}

interface Drawn {
  label: string;
  starts: readonly { name: string; moment: number }[];
  at: number;
}

const width = 1_200;

/** The script writes the reader's hours above those of UTC. */
function TimeLine({ label, starts, at }: Drawn) {
  const place = (moment: number) => Math.round(10 + ((width - 20) * (moment - at)) / dayMs);
  const first = Math.ceil(at / (6 * hourMs)) * 6 * hourMs;
  const hours = [0, 1, 2, 3].map((step) => first + step * 6 * hourMs).filter((moment) => moment < at + dayMs);
  const utc = (moment: number) => `${new Date(moment).toISOString().slice(11, 16)} UTC`;
  // A label at the very end would be cut off.
  const inside = (x: number) => Math.min(Math.max(x, 32), width - 32);
  return (
    <svg class="line" viewBox={`0 0 ${width} 64`} role="img" aria-label={label}>
      <line x1="10" x2={width - 10} y1="16" y2="16" />
      {hours.map((moment) => (
        <>
          <line x1={place(moment)} x2={place(moment)} y1="8" y2="24" />
          <text class="hour" data-at={new Date(moment).toISOString()} x={inside(place(moment))} y="40" />
          <text x={inside(place(moment))} y="57">
            {utc(moment)}
          </text>
        </>
      ))}
      {starts.map((start) => (
        <circle cx={place(start.moment)} cy="16" r="6" opacity="0.75">
          <title>{`${start.name} ${utc(start.moment)}`}</title>
        </circle>
      ))}
    </svg>
  );
}

function Lines({ lines, at }: { lines: readonly ScheduleLine[]; at: number }) {
  const mayAct = useMayAct();
  return (
    <Table
      caption="Schedules, the soonest first"
      look="dense"
      rows={lines}
      tick={mayAct ? ({ id, target }) => ({ name: 'schedule', value: id, label: targetName(target) }) : null}
      columns={[
        [
          'schedule',
          ({ id, target, state, running }) => (
            <>
              <Health look={lookOf(state, running)} text={stateText(state, running)} />
              <a id={`to-${id}`} href={targetAddress(target)} title={visible(targetName(target))}>
                <Foreign text={targetName(target)} />
              </a>
            </>
          ),
        ],
        ['when', ({ when }) => when],
        ['state', ({ state, running }) => stateText(state, running)],
        ['next start', ({ state, thenAt }) => <Starts starts={[state?.nextAt ?? null, ...thenAt]} now={at} />],
        mayAct && [
          '',
          ({ id, state }) =>
            state !== null && (
              <div class="row">
                <Act
                  action={`/schedules/${state.paused ? 'resume' : 'pause'}`}
                  label={state.paused ? 'Resume' : 'Pause'}
                  fields={{ schedule: id }}
                  small
                />
                <Act action="/schedules/trigger" label="Start now" fields={{ schedule: id }} small />
              </div>
            ),
        ],
      ]}
    />
  );
}

function Starts({ starts, now }: { starts: readonly (string | null)[]; now: number }) {
  return (
    <>
      {starts.map((at, index) => (
        <>
          {index > 0 && <span class="quiet">, then </span>}
          {at !== null && Date.parse(at) < now ? 'now' : <When at={at} />}
        </>
      ))}
    </>
  );
}

function lookOf(state: ScheduleLine['state'], running: boolean): HealthLook {
  if (running) return 'run';
  return state === null ? 'none' : state.paused ? 'held' : 'good';
}

function stateText(state: ScheduleLine['state'], running: boolean): string {
  if (state === null) return 'not applied, or unknown';
  const words = [running ? 'running' : '', state.paused ? 'paused' : ''].filter((word) => word !== '');
  return words.length === 0 ? 'on' : words.join(', ');
}
