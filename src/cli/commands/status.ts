import type { Config } from '../../config/config.ts';
import { endsWell } from '../../exports/rules/site-export.ts';
import {
  type Facts,
  factSources,
  gatherFacts,
  lineStates,
  needsPerson,
  type ProjectLine,
  projectLines,
  type Selection,
  type SiteLine,
  shownLines,
  siteLines,
  type Totals,
  totalsOf,
  type Unavailable,
  worstFirst,
} from '../../operations/status.ts';
import { clockTime, counted, spanText } from '../../rules/text.ts';
import {
  CliFailure,
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  failureOf,
  fittingLines,
  loadContextConfig,
  type Output,
  type Paint,
  type Screen,
  type Step,
  type Surface,
  usageFailure,
} from '../context.ts';
import { explainFailure } from '../explain-failure.ts';
import { addSelectionFlags, duration, type SelectionFlags, selected } from '../flags.ts';
import { withInstallation } from '../operator.ts';
import { watching } from '../terminal/prompts.ts';
import { tableLines } from '../terminal/text.ts';

export default {
  status: (command, run) =>
    addSelectionFlags(command, 'those')
      .option(
        '--failed',
        'only what fails: failed, refused by verification, failed at a target, or stopped by a refused key',
      )
      .option(
        '--since <duration>',
        'only what is running or ended its last run within this time, e.g. 24h',
        duration('--since'),
      )
      .option('--check', 'exit with 1 when something needs a person, and with 3 when Temporal does not answer')
      .option('--watch', 'look again every two seconds until Ctrl-C')
      .option('--for <duration>', 'with --watch: stop after this time', duration('--for'))
      .addHelpText(
        'after',
        '\nWithout --check, the exit code is 0 whatever has failed; 3 when neither Temporal nor the feedback store answers.',
      )
      .action(run(showStatus)),
} satisfies CommandFile;

/** Asks Temporal and the stores, and names what does not answer; throws if Temporal and the feedback store are down. */
async function readStatus(config: Config, selection: Selection): Promise<{ facts: Facts; unavailable: Unavailable[] }> {
  const found = await withInstallation(config, (installation) =>
    gatherFacts(factSources(installation, selection), explainFailure),
  );
  const away = (part: Unavailable['part']) => found.unavailable.find((one) => one.part === part);
  const temporal = away('temporal');
  if (temporal && away('feedback store')) {
    throw new CliFailure(failureOf(temporal.code, temporal.message, temporal.hint));
  }
  return found;
}

const dayMs = 86_400_000;
/** Columns that a narrow terminal leaves out, in this order. */
const spareColumns = ['in service', 'complete as of', 'ended (UTC)', 'next (UTC)'];

/** Everything that `status` shows. */
interface Shown {
  sites: readonly SiteLine[];
  projects: readonly ProjectLine[];
  totals: { sites: Totals; projects: Totals };
}

/** The document of `status` (contracts.md). */
interface Look extends Shown {
  unavailable: Unavailable[];
}

/** One line for each site and each project, with as many columns as fit, then the totals. */
export function statusText({ sites, projects, totals }: Shown, now: number, { paint, columns }: Surface): string {
  const several = new Set([...sites, ...projects].map(({ org }) => org)).size > 1;
  const named = (org: string, name: string) => (several ? `${org}/${name}` : name);
  const table = (header: readonly string[], rows: readonly string[][]) =>
    rows.length === 0 ? [] : [knownColumns(header, rows, columns)];
  return [
    ...table(
      ['site', 'state', 'last', 'ended (UTC)', 'next (UTC)', 'in service', 'note'],
      worstFirst(sites).map((line) => [
        named(line.org, line.domain),
        stateText(line.phase !== null && line.state === 'running' ? line.phase : line.state, paint),
        outcomeText(line.lastOutcome, paint),
        minuteText(line.lastAt),
        line.paused ? 'paused' : minuteText(line.nextAt),
        line.current ?? '-',
        notesOf(line, paint, line.held === null ? [] : [line.held === line.current ? 'held' : `held at ${line.held}`]),
      ]),
    ),
    ...table(
      ['project', 'state', 'last', 'ended (UTC)', 'next (UTC)', 'newest read', 'complete as of', 'note'],
      worstFirst(projects).map((line) => [
        named(line.org, line.project),
        stateText(line.state, paint) + (line.running.length === 0 ? '' : ` ${line.running.join(', ')}`),
        line.lastPass === null ? '-' : `${line.lastPass} ${outcomeText(line.lastOutcome, paint)}`,
        minuteText(line.lastAt),
        minuteText(line.nextAt),
        line.newestReadAt === null ? '-' : agoText(now - Date.parse(line.newestReadAt)),
        line.verifiedUpTo === null ? '-' : agoText(now - Date.parse(line.verifiedUpTo)),
        notesOf(line, paint, [
          ...(line.firstReading ? ['first reading'] : []),
          ...(line.paused ? ['schedule paused'] : []),
        ]),
      ]),
    ),
    [totalText('site', totals.sites), totalText('project', totals.projects)].join('\n'),
  ].join('\n\n');
}

/** The table without columns that say nothing, as of what Temporal has not answered. */
function knownColumns(header: readonly string[], rows: readonly string[][], columns: number): string {
  const known = (cells: readonly string[]) =>
    cells.filter((_, column) => column === 0 || rows.some((row) => !['', '-', '?'].includes(row[column] ?? '')));
  return tableLines(known(header), rows.map(known), columns, spareColumns);
}

/** `1,000 sites: 3 running, 990 idle, 2 failing` */
function totalText(what: string, totals: Totals): string {
  const counts = lineStates.flatMap((state) => (totals[state] > 0 ? [`${totals[state]} ${state}`] : []));
  const failing = totals.failing > 0 ? [`${totals.failing} failing`] : [];
  const all = [...counts, ...failing].join(', ');
  return `${counted(totals.all, what)}${all === '' ? '' : `: ${all}`}`;
}

function stateText(state: string | null, paint: Paint): string {
  if (state === null) return '?';
  if (state === 'idle') return state;
  return state === 'unauthorized' ? paint.red(state) : paint.yellow(state);
}

function outcomeText(outcome: string | null, paint: Paint): string {
  if (outcome === null) return '-';
  return endsWell(outcome) || outcome === 'cancelled' ? outcome : paint.red(outcome);
}

function notesOf(
  { failingSince, staleSince, state, lastReason }: SiteLine | ProjectLine,
  paint: Paint,
  others: readonly string[],
): string {
  const refused = state === 'unauthorized' ? [paint.red('the service refuses the API key')] : [];
  const stale = staleSince === null ? [] : [paint.yellow(`stale since ${minuteText(staleSince)}`)];
  if (failingSince === null) return [...refused, ...others, ...stale].join(', ');
  const failing = paint.red(`failing since ${minuteText(failingSince)}`);
  return [...others, lastReason === null ? failing : `${failing}: ${lastReason}`].join(', ');
}

/** `2026-11-21 04:02` */
function minuteText(iso: string | null): string {
  return iso === null ? '-' : iso.slice(0, 16).replace('T', ' ');
}

function agoText(ms: number): string {
  if (ms < 60_000) return 'just now';
  const minutes = Math.floor(ms / 60_000) * 60_000;
  return ms >= 2 * dayMs ? `${Math.floor(ms / dayMs)} days ago` : `${spanText(minutes)} ago`;
}

const lookEveryMs = 2_000;
const usualRows = 24;
/** Headers, empty lines and totals around the lines. */
const otherRows = 10;

/** Looks until Ctrl-C, or for a time: repaints a terminal, prints changed lines elsewhere. Returns the last look. */
async function watchStatus(output: Output, look: () => Promise<Look>, forMs: number | undefined): Promise<Look> {
  let before = new Map<string, string>();
  return watching(output, { everyMs: lookEveryMs, forMs }, async (live) => {
    const found = await look();
    const now = lineTexts(found);
    live.show('status', stepOf(found, changesSince(before, now), output.surfaceOfNotes));
    before = now;
    return found;
  });
}

function stepOf(found: Look, changes: readonly string[], surface: Screen): Step {
  const { paint } = surface;
  const totals = `${totalText('site', found.totals.sites)}; ${totalText('project', found.totals.projects)}`;
  const away = found.unavailable.map(({ message, unknown }) => paint.yellow(`${message}: ${unknown} are unavailable`));
  const rows = Number.isFinite(surface.rows) ? surface.rows : usualRows;
  const text = statusText(fitted(found, rows), Date.now(), surface);
  // The line above has the time, the one below the cursor; where it is narrow a site may take several lines.
  const fitting = { ...surface, rows: rows - 2 - away.length };
  const screen = fittingLines(text, fitting, (count) => counted(count, 'more line'));
  return {
    key: changes.length === 0 ? 'unchanged' : `${totals}\n${changes.join('\n')}`,
    line: [totals, ...away, ...changes].join('\n'),
    text: [paint.dim(`at ${clockTime(Date.now())}`), ...away, screen].join('\n'),
  };
}

/** As much as fits the screen: what fails first, then what runs or waits. */
function fitted(found: Look, rows: number): Look {
  const room = Math.max(4, rows - otherRows - found.unavailable.length);
  const sites = worstFirst(found.sites);
  const projects = worstFirst(found.projects);
  const forSites = Math.max(Math.ceil(room / 2), room - projects.length);
  const shownSites = sites.slice(0, forSites);
  return { ...found, sites: shownSites, projects: projects.slice(0, room - shownSites.length) };
}

function lineTexts({ sites, projects }: Look): Map<string, string> {
  const text = (state: string | null, outcome: string | null, failing: string | null) =>
    [
      state ?? 'state unknown',
      outcome === null ? '' : `last ${outcome}`,
      failing === null ? '' : `failing since ${failing}`,
    ]
      .filter((part) => part !== '')
      .join(', ');
  return new Map([
    ...sites.map(({ org, domain, phase, state, lastOutcome, failingSince }): [string, string] => [
      `${org}/${domain}`,
      text(phase ?? state, lastOutcome, failingSince),
    ]),
    ...projects.map(({ org, project, state, lastPass, lastOutcome, failingSince }): [string, string] => [
      `${org}/${project}`,
      text(state, lastPass && `${lastPass} ${lastOutcome}`, failingSince),
    ]),
  ]);
}

function changesSince(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  return [...now].flatMap(([name, text]) => (before.get(name) === text ? [] : [`  ${name}: ${text}`]));
}

interface StatusFlags extends SelectionFlags {
  failed?: boolean;
  /** Milliseconds. */
  since?: number;
  check?: boolean;
  watch?: boolean;
  /** Milliseconds. */
  for?: number;
}

/** Shows any number of sites and projects on one screen (decisions/0100). */
async function showStatus(context: CommandContext, flags: StatusFlags): Promise<ExitCode> {
  if (flags.for !== undefined && !flags.watch) throw usageFailure('--for goes with --watch', 'add --watch');
  const config = await loadContextConfig(context);
  const selection = selected(config, flags);
  const { output } = context;
  let needed = false;
  const look = async (): Promise<Look> => {
    const { facts, unavailable } = await readStatus(config, selection);
    const now = Date.now();
    const sites = siteLines(selection, facts, config.organizations, now);
    const projects = projectLines(selection, facts, config.organizations, now);
    // Also of what is not shown.
    needed = [...sites, ...projects].some(needsPerson) || unavailable.length > 0;
    const since = flags.since === undefined ? null : new Date(now - flags.since).toISOString();
    const wanted = { failed: flags.failed === true, since };
    return {
      sites: shownLines(sites, wanted),
      projects: shownLines(projects, wanted),
      totals: { sites: totalsOf(sites), projects: totalsOf(projects) },
      unavailable,
    };
  };
  const last = flags.watch ? await watchStatus(output, look, flags.for) : await look();
  for (const { unknown, message } of last.unavailable) output.warn(`${message}: ${unknown} are unavailable`);
  output.result(last, statusText(last, Date.now(), output.surface));
  if (flags.check !== true) return exitCodes.done;
  if (last.unavailable.some(({ part }) => part === 'temporal')) return exitCodes.temporalUnreachable;
  return needed ? exitCodes.failed : exitCodes.done;
}
