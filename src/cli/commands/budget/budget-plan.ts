import type { BudgetOverride } from '../../../budget/rules/permits.ts';
import { overrideText } from '../../../budget/rules/window-view.ts';
import type { Config, OrganizationConfig } from '../../../config/config.ts';
import {
  delaysText,
  delayText,
  type ExpectedDelays,
  type ExpectedOfProject,
  expectedDelays,
} from '../../../feedback/rules/refresh/expected.ts';
import { requestsAnHour, useOfOthers } from '../../../feedback/rules/refresh/pace.ts';
import { refreshedProjects } from '../../../feedback/rules/sync.ts';
import { counted, spanText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig, type Surface } from '../../context.ts';
import { explainFailure } from '../../explain-failure.ts';
import { findOrganization } from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { withTemporal } from '../../session.ts';
import { indent, projectTitle, tableLines, withIsoMoments } from '../../terminal/text.ts';
import { budgetOrg, readBudget } from './budget-show.ts';

export default {
  plan: (command, run) => command.argument('[org]', budgetOrg).action(run(showBudgetPlan)),
} satisfies CommandFile;

const comparedShares = [25, 50, 75, 90];
/** What `refresh` does unless docferry.yaml says otherwise: `every`, and the share in per cent. */
const usual = { everyMs: 5 * 60_000, share: 0.5 };

/** What `refresh` can be expected to achieve (docs/budget-plan.md). */
interface RefreshPlan {
  org: string;
  limit: number;
  reserve: number;
  windowMs: number;
  /** Requests in a window that the plan leaves to other clients; 0 while none are known. */
  otherClients: number;
  /** Why the budget could not say what they use; null when it has answered. */
  othersUnknown: string | null;
  /** In force, set by a person, and ignored by the plan; null if there is none or the budget did not answer. */
  override: BudgetOverride | null;
  everyMs: number;
  /** From 0 to 1; null when the configuration has no `refresh`, so that nothing starts by itself. */
  share: number | null;
  expected: ExpectedDelays;
  projects: (ExpectedOfProject & { name: string | undefined })[];
  /** Projects that have not been read yet. */
  unread: string[];
  shares: (ExpectedDelays & { share: number })[];
}

/** Changes nothing and always ends with 0. If the budget does not answer, it uses what `refresh` remembers of other clients. */
async function showBudgetPlan(context: CommandContext, name?: string): Promise<void> {
  const config = await loadContextConfig(context);
  const { organizations } = config;
  const chosen = name === undefined && organizations.length > 1 ? organizations : [findOrganization(config, name)];
  const plans: RefreshPlan[] = [];
  for (const organization of chosen) plans.push(await planOf(config, organization));
  const { surface } = context.output;
  const texts = plans.map((plan) => `${chosen.length > 1 ? `${plan.org}: ` : ''}${planText(plan, surface)}`);
  const [only] = plans.map(planDocument);
  context.output.result(chosen.length > 1 ? { plans: plans.map(planDocument) } : (only ?? {}), texts.join('\n\n'));
}

async function planOf(config: Config, organization: OrganizationConfig): Promise<RefreshPlan> {
  const { budget, refresh, projects } = organization;
  const [seen, override, othersUnknown] = await withTemporal(config, (session) =>
    readBudget(session, organization),
  ).then(
    ({ otherClients, override }) => [otherClients, override, null] as const,
    (error: unknown) => [null, null, explainFailure(error).message] as const,
  );
  const at = Date.now();
  const { everyMs, share } = refresh ?? usual;
  const refreshed = refreshedProjects(organization);
  const state = await withFeedbackStore(config, (store) => store.refreshOutlook(organization.id, refreshed, at));
  const { requests: limit, reserve, windowMs } = budget;
  const window = { limit, reserve, windowMs, otherClients: seen };
  const outlook = (part: number) => {
    const perHour = requestsAnHour(part, state.pace, window, at);
    return expectedDelays(state.pages, state.projects, { perHour, everyMs, at });
  };
  const { projects: ofProjects, ...expected } = outlook(share);
  const known = new Set(ofProjects.map(({ project }) => project));
  return {
    org: organization.id,
    limit,
    reserve,
    windowMs,
    otherClients: Math.round(useOfOthers(state.pace, window, at)),
    othersUnknown,
    override,
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
}

function planDocument({ projects, ...plan }: RefreshPlan): object {
  return withIsoMoments({ ...plan, projects: projects.map(({ name: _, ...project }) => project) });
}

function planText(plan: RefreshPlan, { paint, columns }: Surface): string {
  const { share, expected, projects, unread, shares, reserve, limit, otherClients, othersUnknown } = plan;
  const count = counted(projects.length, 'project');
  const all = projects.length + unread.length;
  const said =
    projects.length === 0
      ? `none of ${counted(all, 'project')} has been read yet`
      : `${count}: ${delaysText(expected)}`;
  const hour = plan.windowMs === 3_600_000 ? 'an hour' : `in ${spanText(plan.windowMs)}`;
  const taken = Math.min(limit - 1, Math.max(reserve, otherClients));
  const taker = otherClients > reserve ? 'other clients leave' : 'the reserve leaves';
  const left =
    taken > 0 ? `the ${limit - taken} of ${limit} requests ${hour} that ${taker}` : `${limit} requests ${hour}`;
  const lines = [`At ${percentText(share ?? usual.share)} of ${left}, ${said}`];
  if (share === null) {
    lines.push(
      paint.yellow(
        'nothing starts by itself: the organization has no `refresh`, for example { every: 5m, share: 50% }',
      ),
    );
  }
  if (plan.override !== null) {
    const inForce = `in force now, set by hand: ${overrideText(plan.override, Date.now())}`;
    lines.push(paint.yellow(`${inForce}; the plan is for the limit of docferry.yaml, which holds without it`));
  }
  if (othersUnknown !== null) {
    const assumed = otherClients > 0 ? `${otherClients} of ${limit}, as last seen` : 'nothing';
    lines.push(paint.yellow(`what other clients use now is unknown, and taken to be ${assumed}: ${othersUnknown}`));
  }
  if (unread.length > 0 && projects.length > 0) lines.push(`not read yet, and not counted: ${unread.join(', ')}`);
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
