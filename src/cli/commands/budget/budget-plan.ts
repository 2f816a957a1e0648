import type { PassOutlook } from '../../../budget/rules/budget-forecast.ts';
import {
  assumedEntries,
  type BudgetPlan,
  type PlannedPass,
  type PlannedProject,
  planBudget,
} from '../../../budget/rules/plan-budget.ts';
import { spanText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { findOrganization } from '../../selection.ts';
import { withFeedbackStore } from '../../stores.ts';
import type { Paint, Surface } from '../../terminal/output.ts';
import { indent, isoTime, projectTitle, tableLines, timeText } from '../../terminal/text.ts';
import { budgetOrg } from './budget-view.ts';
import { everyText, intervalLines } from './interval-lines.ts';

export default {
  plan: (command, run) => command.argument('[org]', budgetOrg).action(run(showBudgetPlan)),
} satisfies CommandFile;

interface ShownPlan {
  org: string;
  limit: number;
  reserve: number;
  plan: BudgetPlan;
  /** Of the projects by id. */
  names: ReadonlyMap<string, string | undefined>;
}

/** A plan as a JSON document (docs/budget-plan.md). */
function planDocument({ org, limit, reserve, plan }: ShownPlan): object {
  const { available, windowMs, horizonMs, verdict, hopeless, projects, passes, now, proposed } = plan;
  return {
    org,
    limit,
    reserve,
    windowMs,
    available,
    verdict,
    hopeless,
    horizonMs,
    now: outlookDocument(now),
    proposed: proposed === null ? null : outlookDocument(proposed),
    projects,
    schedules: passes.map(({ project, pass, times, observedRuns, now: today, proposed: then, proposedEveryMs }) => ({
      project,
      pass,
      every: times.everyMs === undefined ? null : everyText(times.everyMs),
      cron: times.cron ?? null,
      timezone: times.cron === undefined ? null : times.timezone,
      observedRuns,
      ...today,
      proposed: then === null ? null : { every: proposedEveryMs === null ? null : everyText(proposedEveryMs), ...then },
    })),
  };
}

function outlookDocument({ perWindow, fullest, stalenessMs }: BudgetPlan['now']): object {
  const window = fullest === null ? null : { from: isoTime(fullest.fromMs), requests: fullest.requests };
  return { perWindow, fullest: window, stalenessMs };
}

/** A plan for people: the verdict and what to do, a table, and what to write into docferry.yaml. */
function planText(shown: ShownPlan, { paint, columns }: Surface): string {
  const { org, limit, reserve, plan } = shown;
  const window = windowName(plan.windowMs);
  const ours = `${limit} requests ${window === 'hour' ? 'an' : 'a'} ${window}`;
  const lines = [
    `${paint.bold(`plan for ${org}`)}: ${ours}${reserve > 0 ? `, ${reserve} left to others` : ''}`,
    verdictText(plan, window, paint),
    ...adviceLines(plan, window),
  ];
  if (plan.passes.length > 0) lines.push('', indent(passTable(shown, columns - 2)));
  const notes = [...plan.projects.flatMap((project) => projectNotes(project, plan.passes)), ...passNotes(plan)];
  if (notes.length > 0) lines.push('', ...notes.map(indent));
  const changes = plan.passes.flatMap(changeOf);
  if (changes.length > 0) lines.push('', 'In docferry.yaml:', '', indent(intervalLines(org, changes)));
  return lines.join('\n');
}

function passTable({ plan, names }: ShownPlan, columns: number): string {
  const { passes, windowMs, proposed } = plan;
  const header = ['project', 'pass', 'every', 'requests a run', `requests/${windowMs === hourMs ? 'h' : 'window'}`];
  const rows = passes.map(({ project, pass, times, observedRuns, now, proposed: then, proposedEveryMs }) => [
    projectTitle({ project, name: names.get(project) }),
    pass,
    times.everyMs === undefined ? `${times.cron} ${times.timezone}` : everyText(times.everyMs),
    `${observedRuns === 0 ? '~' : ''}${countText(now.requestsPerRun)}`,
    countText(now.perWindow),
    stalenessText(now),
    ...(then === null ? [] : [proposedEveryMs === null ? 'as it is' : everyText(proposedEveryMs), stalenessText(then)]),
  ]);
  return tableLines([...header, 'seen after', ...(proposed === null ? [] : ['proposed', 'seen after'])], rows, columns);
}

function verdictText({ verdict, available, now, passes }: BudgetPlan, window: string, paint: Paint): string {
  const average = `${countText(now.perWindow)} of ${available} requests on average`;
  const fullest = now.fullest === null ? '0' : countText(now.fullest.requests);
  const when = now.fullest === null ? '' : ` (${timeText(isoTime(now.fullest.fromMs)).slice(0, 16)} UTC)`;
  if (verdict === 'nothing-scheduled')
    return 'nothing is scheduled: docferry sends requests only when a person starts a sync';
  if (verdict === 'suffices') {
    return `${paint.green(`the ${window} suffices`)}: ${average}, ${fullest} in the fullest ${window}${when}`;
  }
  if (verdict === 'exceeds') {
    return `${paint.red(`the ${window} does not suffice`)}: the schedules need ${average}`;
  }
  const slowest = passes.reduce<PlannedPass | null>(
    (longest, pass) => (longest === null || pass.now.longestRunMs > longest.now.longestRunMs ? pass : longest),
    null,
  );
  const wait = slowest ? `; ${slowest.project} ${slowest.pass} then takes ${longText(slowest.now.longestRunMs)}` : '';
  return `${paint.yellow(`the ${window} suffices on average`)}: ${average}, but the fullest needs ${fullest}${when}${wait}`;
}

function adviceLines({ verdict, proposed, now, available, hopeless, passes }: BudgetPlan, window: string): string[] {
  if (hopeless !== null) return [hopelessText[hopeless]];
  if (verdict === 'nothing-scheduled') return [];
  if (proposed === null) return ['the intervals can stay as they are'];
  const longer = passes.filter(
    (pass) => (pass.proposedEveryMs ?? 0) > (pass.times.everyMs ?? Number.POSITIVE_INFINITY),
  );
  const stretch = longer.map(
    ({ project, pass, times, proposedEveryMs }) =>
      `${project} ${pass} from ${everyText(times.everyMs ?? 0)} to ${everyText(proposedEveryMs ?? 0)}`,
  );
  const fullest = proposed.fullest === null ? '0' : countText(proposed.fullest.requests);
  const load = `${countText(proposed.perWindow)} of ${available} requests on average, ${fullest} in the fullest ${window}`;
  const lines = verdict === 'exceeds' && stretch.length > 0 ? [`stretch ${stretch.join(', ')}`] : [];
  lines.push(`with the proposed intervals: ${load}`);
  if (proposed.stalenessMs !== null) {
    const before = now.stalenessMs === null ? '' : `; today after ${longText(now.stalenessMs)}`;
    lines.push(`a new entry then reaches the store after ${longText(proposed.stalenessMs)} on average${before}`);
  }
  return lines;
}

const hopelessText = {
  cron: 'no intervals help: the cron schedules alone take too many requests; run them less often',
  entries:
    'no intervals help: reading the new entries takes more requests than the other schedules leave; raise the limit',
};

function projectNotes({ project, newPerDay, observedDays, entries }: PlannedProject, passes: readonly PlannedPass[]) {
  const scheduled = passes.filter((pass) => pass.project === project);
  if (scheduled.length === 0) return [`${project}: nothing is scheduled`];
  const notes: string[] = [];
  if (observedDays === null) {
    const size = entries > 0 ? `${entries}` : `${assumedEntries}`;
    notes.push(`${project}: nothing observed yet: assumed ${countText(newPerDay)} new entries a day, ${size} in all`);
  } else {
    const days = Math.round(observedDays);
    const rate = `${countText(newPerDay)} new entries a day over ${days} ${days === 1 ? 'day' : 'days'}`;
    notes.push(`${project}: ${entries} entries, ${rate}`);
  }
  if (!scheduled.some(({ pass }) => pass === 'incremental')) {
    notes.push(`${project}: no incremental passes, so only the other passes bring in new entries`);
  }
  return notes;
}

function passNotes({ passes }: BudgetPlan): string[] {
  const skipping = passes.filter(({ now }) => now.skipped > 0);
  const guessed = passes.filter(({ observedRuns }) => observedRuns === 0);
  const notes = skipping.map(
    ({ project, pass, now }) =>
      `${project} ${pass}: ${now.skipped} of ${now.starts} starts are skipped because the previous run is still going`,
  );
  return guessed.length === 0 ? notes : [...notes, '~ no run has completed yet: estimated, not observed'];
}

function changeOf({ project, pass, times, proposedEveryMs }: PlannedPass) {
  if (proposedEveryMs === null || proposedEveryMs === times.everyMs) return [];
  return [{ project, pass, everyMs: proposedEveryMs, jitterMs: times.jitterMs }];
}

const hourMs = 3_600_000;

function windowName(windowMs: number): string {
  return windowMs === hourMs ? 'hour' : `window of ${spanText(windowMs)}`;
}

function stalenessText({ stalenessMs }: PassOutlook): string {
  return stalenessMs === null ? 'never' : longText(stalenessMs);
}

/** Like `spanText`, but to the minute from ten minutes on and in days from two days on. */
function longText(ms: number): string {
  if (ms >= 48 * hourMs) return `${countText(ms / (24 * hourMs))} days`;
  return spanText(ms < 600_000 ? ms : Math.round(ms / 60_000) * 60_000);
}

/** `0.25`, `3.4`, `120`. */
function countText(count: number): string {
  return String(Number(count.toFixed(count < 1 ? 2 : count < 100 ? 1 : 0)));
}

/** Advice only: it changes nothing, and ends with 0 whatever it finds. */
async function showBudgetPlan(context: CommandContext, name?: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const organization = findOrganization(config, name);
  const activity = await withFeedbackStore(config, async (store) => {
    const projects = organization.projects.map(
      async ({ id }) => [id, await store.projectActivity(organization.id, id)] as const,
    );
    return new Map(await Promise.all(projects));
  });
  const { budget } = organization;
  const { taskQueue } = config.temporal;
  const names = new Map(organization.projects.map(({ id, name: title }) => [id, title]));
  const plan = planBudget({ taskQueue, organization, budget, activity, fromMs: Date.now() });
  const shown = { org: organization.id, limit: budget.requests, reserve: budget.reserve, plan, names };
  context.output.result(planDocument(shown), planText(shown, context.output.surface));
  return exitCodes.done;
}
