import type { Unavailable } from '../../operations/status.ts';
import { type ScheduleTarget, targetName } from '../../rules/workflow-ids.ts';
import { Page } from './layout.tsx';
import { Act, Aged, Foreign, TableHead, Troubles, targetAddress, type Viewer, When } from './parts.tsx';

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

interface Schedules {
  viewer: Viewer;
  lines: readonly ScheduleLine[];
  unavailable: readonly Unavailable[];
  at: number;
  late: boolean;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** What starts by itself, and when. */
export function SchedulesPage({ viewer, lines, unavailable, at, late }: Schedules) {
  return (
    <Page title="Schedules" viewer={viewer} at="/schedules" events="/events?of=overview">
      <div id="schedules" data-live>
        <Aged at={at} late={late} />
        <Troubles troubles={unavailable} />
        {lines.length === 0 ? (
          <p class="under">No schedules are configured.</p>
        ) : (
          <>
            <NextDay lines={lines} at={at} />
            <Table viewer={viewer} lines={lines} />
          </>
        )}
      </div>
    </Page>
  );
}

/** The next starts within a day on one line of time. */
function NextDay({ lines, at }: { lines: readonly ScheduleLine[]; at: number }) {
  const starts = lines.flatMap(({ target, state }) => {
    const moment = state?.nextAt == null ? Number.NaN : Date.parse(state.nextAt);
    return moment >= at && moment < at + dayMs ? [{ name: targetName(target), moment }] : [];
  });
  const isKnown = lines.some(({ state }) => state !== null);
  const label = isKnown
    ? `${starts.length} of ${lines.length} schedules start within a day`
    : 'Next starts are unavailable';
  return (
    <section aria-labelledby="day-title">
      <h2 id="day-title">The next 24 hours</h2>
      <p class="fine">{`${label}.`}</p>
      <TimeLine name="wide" width={1_200} label={label} starts={starts} at={at} />
      <TimeLine name="narrow" width={360} label={label} starts={starts} at={at} />
    </section>
  );
}

interface Drawn {
  /** Of the class: one of them is shown, by the width of the screen. */
  name: 'wide' | 'narrow';
  width: number;
  label: string;
  starts: readonly { name: string; moment: number }[];
  at: number;
}

/** The script writes the reader's hours above those of UTC. */
function TimeLine({ name, width, label, starts, at }: Drawn) {
  const place = (moment: number) => Math.round(10 + ((width - 20) * (moment - at)) / dayMs);
  const first = Math.ceil(at / (6 * hourMs)) * 6 * hourMs;
  const hours = [0, 1, 2, 3].map((step) => first + step * 6 * hourMs).filter((moment) => moment < at + dayMs);
  const utc = (moment: number) => `${new Date(moment).toISOString().slice(11, 16)} UTC`;
  // A label at the very end would be cut off.
  const inside = (x: number) => Math.min(Math.max(x, 32), width - 32);
  return (
    <svg class={`line ${name}`} viewBox={`0 0 ${width} 64`} role="img" aria-label={label}>
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

function Table({ viewer, lines }: { viewer: Viewer; lines: readonly ScheduleLine[] }) {
  const sorted = [...lines].sort((a, b) => (a.state?.nextAt ?? '~').localeCompare(b.state?.nextAt ?? '~'));
  return (
    <div class="scroll">
      <table class="cards">
        <caption class="unseen">Schedules, the soonest first</caption>
        <TableHead columns={['schedule', 'when', 'state', 'next start']} acts={viewer.mayAct} />
        <tbody>
          {sorted.map((line) => (
            <Line viewer={viewer} line={line} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ viewer, line: { id, target, when, state, thenAt, running } }: { viewer: Viewer; line: ScheduleLine }) {
  return (
    <tr>
      <th scope="row">
        <a id={`to-${id}`} href={targetAddress(target)}>
          <Foreign text={targetName(target)} />
        </a>
      </th>
      <td data-name="when">{when}</td>
      <td data-name="state">{stateText(state, running)}</td>
      <td data-name="next start">
        <When at={state?.nextAt ?? null} />
        {thenAt.map((at) => (
          <div class="fine">
            then <When at={at} />
          </div>
        ))}
      </td>
      {viewer.mayAct && (
        <td data-name="">
          {state !== null && (
            <div class="row">
              <Act
                viewer={viewer}
                action={`/schedules/${state.paused ? 'resume' : 'pause'}`}
                label={state.paused ? 'Resume' : 'Pause'}
                fields={{ schedule: id }}
                small
              />
              <Act viewer={viewer} action="/schedules/trigger" label="Start now" fields={{ schedule: id }} small />
            </div>
          )}
        </td>
      )}
    </tr>
  );
}

function stateText(state: ScheduleLine['state'], running: boolean): string {
  if (state === null) return 'not applied, or unknown';
  const words = [running ? 'running' : '', state.paused ? 'paused' : ''].filter((word) => word !== '');
  return words.length === 0 ? 'on' : words.join(', ');
}
