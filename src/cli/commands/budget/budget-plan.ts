import {
  delaysText,
  delayText,
  type ExpectedDelays,
  type ExpectedOfProject,
  expectedDelays,
} from '../../../feedback/rules/refresh/expected.ts';
import { spanText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { findOrganization } from '../../selection.ts';
import { withFeedbackStore } from '../../stores.ts';
import type { Surface } from '../../terminal/output.ts';
import { indent, projectTitle, tableLines } from '../../terminal/text.ts';
import { budgetOrg } from './budget-view.ts';

export default {
  plan: (command, run) => command.argument('[org]', budgetOrg).action(run(showBudgetPlan)),
} satisfies CommandFile;

/** Shares that a plan compares, in per cent. */
const comparedShares = [25, 50, 75, 90];
/** What `refresh` does unless docferry.yaml says otherwise: `every`, and the share in per cent. */
const usual = { everyMs: 5 * 60_000, share: 0.5 };

/** What `refresh` can be expected to achieve (docs/budget-plan.md). */
interface RefreshPlan {
  org: string;
  limit: number;
  reserve: number;
  windowMs: number;
  everyMs: number;
  /** From 0 to 1; null when the configuration has no `refresh`, so that nothing starts by itself. */
  share: number | null;
  expected: ExpectedDelays;
  projects: (ExpectedOfProject & { name: string | undefined })[];
  /** Projects that have not been read yet. */
  unread: string[];
  shares: (ExpectedDelays & { share: number })[];
}

/** Reads the feedback store and the configuration only; changes nothing, and ends with 0 whatever it finds. */
async function showBudgetPlan(context: CommandContext, name?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const { budget, refresh, projects } = organization;
  const at = Date.now();
  const { everyMs, share } = refresh ?? usual;
  const refreshed = projects.map(({ id, weight, atMostMs = null }) => ({ project: id, weight, atMostMs }));
  const state = await withFeedbackStore(config, (store) => store.refreshOutlook(organization.id, refreshed, at));
  const available = budget.requests - budget.reserve;
  const hourly = (part: number) => (part * available * 3_600_000) / budget.windowMs;
  const outlook = (part: number) => expectedDelays(state.pages, state.projects, { perHour: hourly(part), everyMs, at });
  const { projects: ofProjects, ...expected } = outlook(share);
  const known = new Set(ofProjects.map(({ project }) => project));
  const plan: RefreshPlan = {
    org: organization.id,
    limit: budget.requests,
    reserve: budget.reserve,
    windowMs: budget.windowMs,
    everyMs,
    share: refresh === undefined ? null : share,
    expected,
    projects: ofProjects.map((one) => ({ ...one, name: projects.find(({ id }) => id === one.project)?.name })),
    unread: projects.flatMap(({ id }) => (known.has(id) ? [] : [id])),
    shares: comparedShares.map((percent) => {
      const { projects: _, ...delays } = outlook(percent / 100);
      return { share: percent / 100, ...delays };
    }),
  };
  context.output.result(planDocument(plan), planText(plan, context.output.surface));
  return exitCodes.done;
}

function planDocument({ projects, ...plan }: RefreshPlan): object {
  return { ...plan, projects: projects.map(({ name: _, ...project }) => project) };
}

function planText(plan: RefreshPlan, { paint, columns }: Surface): string {
  const { share, expected, projects, unread, shares, reserve, limit } = plan;
  const count = `${projects.length} project${projects.length === 1 ? '' : 's'}`;
  const hour = plan.windowMs === 3_600_000 ? 'an hour' : `in ${spanText(plan.windowMs)}`;
  const left =
    reserve > 0
      ? `the ${limit - reserve} of ${limit} requests ${hour} that the reserve leaves`
      : `${limit} requests ${hour}`;
  const lines = [`At ${percentText(share ?? usual.share)} of ${left}, ${count}: ${delaysText(expected)}`];
  if (share === null) {
    lines.push(
      paint.yellow(
        'nothing starts by itself: the organization has no `refresh`, for example { every: 5m, share: 50% }',
      ),
    );
  }
  if (unread.length > 0) lines.push(`not read yet, and not counted: ${unread.join(', ')}`);
  if (projects.length === 0) return lines.join('\n');
  const header = ['new entries', '95 % within', 'changes of status', 'silent edits, deletions'];
  const rows = projects.map((project) => [projectTitle(project), ...cells(project)]);
  const table = tableLines(['project', ...header], rows, columns - 2);
  const compared = tableLines(
    ['share', ...header],
    shares.map((one) => [percentText(one.share), ...cells(one)]),
    columns - 2,
  );
  return [...lines, '', indent(table), '', indent(compared)].join('\n');
}

const cells = ({ newMs, newMostMs, statusMs, silentMs }: ExpectedDelays): string[] =>
  [newMs, newMostMs, statusMs, silentMs].map((ms) => (ms === null ? '-' : delayText(ms)));

const percentText = (share: number): string => `${Number((share * 100).toFixed(1))} %`;
