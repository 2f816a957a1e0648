import { WorkflowNotFoundError } from '@temporalio/client';
import { budgetView } from '../../../budget/client.ts';
import { drift, type Limits } from '../../../budget/rules/permits.ts';
import {
  forgotten,
  pauseWords,
  untouchedView,
  usedText,
  type WindowView,
  windowFacts,
} from '../../../budget/rules/window-view.ts';
import type { Config, OrganizationConfig } from '../../../config/config.ts';
import { type Ended, forEach } from '../../../operations/operator.ts';
import { clockTime, counted, momentText, naturalOrder, spanText } from '../../../rules/text.ts';
import { callsAtOnce } from '../../../temporal/runs.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  fittingLines,
  loadContextConfig,
  type Output,
  type Paint,
  type Step,
  type Surface,
} from '../../context.ts';
import { explainFailure } from '../../explain-failure.ts';
import { duration, findOrganization } from '../../flags.ts';
import { type Session, withTemporal } from '../../session.ts';
import { watching } from '../../terminal/prompts.ts';
import { factLines, indent, tableLines, withIsoMoments } from '../../terminal/text.ts';
import { askWorker } from '../../waiting.ts';

const heights = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

export const budgetOrg = 'id of a configured organization; optional when there is only one';

/** Cells of a strip if the terminal is wide enough. */
const stripWidth = 50;

/** The limit as a strip: used, free, left to others. */
export function windowStrip({ limit, used, reserve }: WindowView, paint: Paint, width = stripWidth): string {
  const cells = (count: number) => Math.round((Math.max(0, count) / limit) * width);
  const occupied = Math.min(width, cells(used));
  const others = Math.min(width - occupied, cells(Math.min(reserve, limit - used)));
  const free = width - occupied - others;
  return `${paint.cyan('█'.repeat(occupied))}${'░'.repeat(free)}${paint.dim('▒'.repeat(others))}`;
}

/** When occupied slots come free over the next window: the higher, the more. */
export function releaseStrip(
  { releases, windowMs }: WindowView,
  now: number,
  paint: Paint,
  width = stripWidth,
): string {
  const counts = Array.from({ length: width }, () => 0);
  for (const moment of releases) {
    const place = Math.min(width - 1, Math.max(0, Math.floor(((moment - now) / windowMs) * width)));
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const most = Math.max(...counts);
  const strip = counts.map((count) => (count === 0 ? '·' : heights[Math.ceil((count / most) * heights.length) - 1]));
  return `${paint.cyan(strip.join(''))} ${paint.dim(`until ${momentText(now + windowMs, now)}`)}`;
}

const shortestStrip = 4;

/** An organization with what docferry.yaml says of its budget. */
interface Configured {
  id: string;
  budget: Limits;
}

/** The document of `budget show --json` (contracts.md): moments as ISO 8601. */
export function budgetDocument({ id: org, budget }: Configured, view: WindowView): object {
  const { configuredAt: _configuredAt, ignored: _ignored, releases: _releases, ...shown } = view;
  return withIsoMoments({ org, ...shown, differs: Object.keys(drift(view.configured, budget)).length > 0 });
}

/** The window for people, under its heading. */
export function budgetText({ id, budget }: Configured, view: WindowView, now: number, surface: Surface): string {
  const { paint } = surface;
  const heading = `${paint.bold(`budget of ${id}`)} ${paint.dim(`at ${clockTime(now)}`)}`;
  const text = `${heading}\n${budgetLines(view, now, surface)}`;
  const file = limitTexts(drift(budget, view.configured));
  if (file.length === 0) return text;
  const inForce = limitTexts(drift(view.configured, budget)).join(', ');
  const why = `differs from docferry.yaml: ${inForce} instead of ${file.join(', ')}`;
  return `${text}\n  ${paint.yellow(`${why}; \`docferry budget reset ${id}\` takes it back`)}`;
}

function limitTexts({ requests, reserve, windowMs, arrivalMs }: Partial<Limits>): string[] {
  return [
    ...(requests === undefined ? [] : [counted(requests, 'request')]),
    ...(reserve === undefined ? [] : [`${reserve} left to others`]),
    ...(windowMs === undefined ? [] : [`a window of ${spanText(windowMs)}`]),
    ...(arrivalMs === undefined ? [] : [`arrival within ${spanText(arrivalMs)}`]),
  ];
}

/** A line for each organization, with `?` for what a budget does not answer. */
export function budgetTable(
  budgets: readonly Ended<Configured, WindowView>[],
  now: number,
  { columns }: Surface,
): string {
  const rows = budgets.map((one) => {
    const { id, budget } = one.item;
    if (!one.ok) return [id, '?', '?', '?', '?', '?', explainFailure(one.error).message];
    const view = one.answer;
    const { windowMs, available, holders, waiters, nextFreeAt, throttledInWindow, pausedBy } = view;
    const state = [
      ...(pausedBy === null ? [] : [pauseWords[pausedBy]]),
      ...(view.countsAsFullUntil === null ? [] : [`counts as full: ${forgotten}`]),
      ...(limitTexts(drift(view.configured, budget)).length > 0 ? ['differs from docferry.yaml'] : []),
      ...(throttledInWindow > 0 ? [`${throttledInWindow} refused (429)`] : []),
    ];
    return [
      id,
      usedText(view, ` in ${spanText(windowMs)}`),
      `${available}`,
      `${holders.length}`,
      `${waiters.length}`,
      nextFreeAt === null ? '-' : momentText(nextFreeAt, now),
      state.join(', '),
    ];
  });
  return tableLines(['organization', 'used', 'free', 'in use', 'waiting', 'next free', ''], rows, columns);
}

/** A strip of slots, a strip of when they come free, and the facts. */
function budgetLines(view: WindowView, now: number, { paint, columns }: Surface): string {
  const facts = windowFacts(view, now);
  // Beside the longer strip there are the indentation, the column of names, and when the window ends.
  const names = Math.max('come free'.length, ...facts.map(([name]) => name.length));
  const beside = 2 + names + 2 + ' until '.length + momentText(now + view.windowMs, now).length;
  const width = Math.min(stripWidth, Math.max(shortestStrip, columns - beside));
  const strips: [string, string][] = [['slots', windowStrip(view, paint, width)]];
  if (view.releases.length > 0) strips.push(['come free', releaseStrip(view, now, paint, width)]);
  return indent(factLines([...strips, ...facts]));
}

export default {
  show: (command, run) => command.argument('[org]', budgetOrg).action(run(showBudget)),
  watch: (command, run) =>
    command
      .argument('[org]', budgetOrg)
      .option('--for <duration>', 'end after this time, e.g. 10m', duration('--for'))
      .action(run(watchBudget)),
} satisfies CommandFile;

/** An organization's window now; as configured and all free if it never asked for a permit. */
export async function readBudget({ client, config }: Session, { id, budget }: OrganizationConfig): Promise<WindowView> {
  try {
    return await askWorker(client, config.temporal.taskQueue, () => budgetView(client, id));
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return untouchedView(budget);
    throw error;
  }
}

async function showBudget(context: CommandContext, name?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  if (name === undefined && config.organizations.length > 1) return showAllBudgets(context, config);
  const organization = findOrganization(config, name);
  const view = await withTemporal(config, (session) => readBudget(session, organization));
  context.output.result(
    budgetDocument(organization, view),
    budgetText(organization, view, Date.now(), context.output.surface),
  );
  return exitCodes.done;
}

/** One that does not answer hides no other; throws when none does. */
async function showAllBudgets({ output }: CommandContext, config: Config): Promise<ExitCode> {
  const organizations = [...config.organizations].sort((a, b) => naturalOrder(a.id, b.id));
  const noneAnswers = new AbortController();
  let patience = callsAtOnce;
  const read = async (session: Session, organization: OrganizationConfig) => {
    try {
      const view = await readBudget(session, organization);
      patience = Number.POSITIVE_INFINITY;
      return view;
    } catch (error) {
      patience -= 1;
      if (patience === 0) noneAnswers.abort();
      throw error;
    }
  };
  const { ended } = await withTemporal(config, (session) =>
    forEach(organizations, (organization) => read(session, organization), noneAnswers.signal),
  );
  const [first] = ended;
  if (first?.ok === false && ended.every(({ ok }) => !ok)) throw first.error;
  const documents = ended.map((one) => {
    if (one.ok) return budgetDocument(one.item, one.answer);
    const { code, message, hint } = explainFailure(one.error);
    return { org: one.item.id, error: { code, message, hint } };
  });
  output.result({ organizations: documents }, budgetTable(ended, Date.now(), output.surface));
  return ended.every(({ ok }) => ok) ? exitCodes.done : exitCodes.failed;
}

const lookEveryMs = 1_000;

async function watchBudget(
  context: CommandContext,
  name: string | undefined,
  { for: forMs }: { for?: number },
): Promise<void> {
  const { output } = context;
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const last = await withTemporal(config, (session) =>
    watching(output, { everyMs: lookEveryMs, forMs }, async (live) => {
      const view = await readBudget(session, organization);
      live.show(`budget of ${organization.id}`, stepOf(view, output));
      return view;
    }),
  );
  output.result(budgetDocument(organization, last), budgetText(organization, last, Date.now(), output.surface));
}

/** On a terminal the whole window, redrawn; elsewhere a line for each change. */
function stepOf(view: WindowView, output: Output): Step {
  const { available, holders, waiters, throttledInWindow, pausedBy } = view;
  const counts = [
    usedText(view, ' used'),
    `${available} free`,
    `${holders.length} in use`,
    `${waiters.length} waiting`,
    ...(throttledInWindow > 0 ? [`${throttledInWindow} refused`] : []),
    ...(pausedBy === null ? [] : [pauseWords[pausedBy]]),
  ];
  const line = counts.join(', ');
  const now = Date.now();
  const surface = output.surfaceOfNotes;
  // The line above has the time, the one below the cursor.
  const fitting = { ...surface, rows: surface.rows - 2 };
  const lines = fittingLines(budgetLines(view, now, surface), fitting, (count) => leftOutText(view, count));
  return { key: line, line, text: `${output.paintNotes.dim(`at ${clockTime(now)}`)}\n${lines}` };
}

/** The last lines of a budget are its waiters; before them come the requests in use. */
function leftOutText({ waiters }: WindowView, lines: number): string {
  if (lines <= waiters.length) return `${lines} more waiting`;
  return `${lines - waiters.length} more lines, ${waiters.length} waiting`;
}
