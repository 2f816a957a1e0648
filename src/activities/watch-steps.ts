import { activityInfo, log } from '@temporalio/activity';
import { observedTarget } from '../exports/rollout/roll-out-version.ts';
import { observe, type Place, type RolloutTarget } from '../exports/rollout/rollout-target.ts';
import type { Observed } from '../exports/rules/rollout-steps.ts';
import type { BundleStore, InService, ObservedTargets, SiteHold } from '../exports/store/bundle-store.ts';
import { hourMs } from '../feedback/rules/refresh/rates.ts';
import { spanText } from '../rules/text.ts';
import { workflowTypes } from '../rules/workflow-ids.ts';
import {
  changesSince,
  isAbout,
  type LastLook,
  type NoticeRow,
  passNotices,
  type Sight,
  watchedConditions,
} from '../runs/rules/notices.ts';
import type { WebhookEvent } from '../runs/rules/webhook-event.ts';
import type { CutRun } from '../runs/watches.ts';
import type { Webhook } from '../runs/webhooks.ts';
import { inBatches } from '../temporal/runs.ts';
import {
  type ActivityDependencies,
  answerWithin,
  nameOf,
  type Organization,
  organizationOf,
  scheduledAt,
} from './dependencies.ts';
import {
  entriesAtOnce,
  goneWebhooks,
  isGone,
  messageIdOf,
  recordExportNotices,
  recordNotices,
  sendDueNotices,
} from './notices.ts';

/** Looks of many organizations within this time share one listing. */
const sharedMs = 30_000;
interface Listing {
  at: number;
  found: Promise<ReadonlyMap<string, InService>>;
  damaged: ReadonlyMap<string, Error>;
}
const listings = new WeakMap<BundleStore, Listing>();

/**
 * What all sites have in service, and which are held, by one listing that may be half a minute old. Throws `RecordDamaged`
 * for a site of this organization.
 */
async function listedSites(
  { bundles, organizations }: Pick<ActivityDependencies, 'bundles' | 'organizations'>,
  { sites, watchEveryMs }: Pick<Organization, 'sites' | 'watchEveryMs'>,
): Promise<ReadonlyMap<string, InService>> {
  const before = listings.get(bundles);
  const isFresh = before !== undefined && performance.now() - before.at < Math.min(sharedMs, watchEveryMs);
  const listing = isFresh ? before : list(bundles, organizations);
  const found = await listing.found;
  for (const { domain } of sites) if (listing.damaged.has(domain)) throw listing.damaged.get(domain);
  return found;
}

function list(bundles: BundleStore, organizations: readonly Organization[]): Listing {
  const damaged = new Map<string, Error>();
  const domains = organizations.flatMap(({ sites }) => sites.map(({ domain }) => domain));
  const found = bundles.inService(domains, (domain, error) => damaged.set(domain, error));
  const listing = { at: performance.now(), found, damaged };
  listings.set(bundles, listing);
  listing.found.catch(() => {
    if (listings.get(bundles) === listing) listings.delete(bundles);
  });
  return listing;
}

type HeldSite = { domain: string } & Pick<SiteHold, 'version' | 'since' | 'waiting'>;

/** The sites of an organization that people hold. The listing says which may be held; only these are read. */
export async function heldSites(
  deps: Pick<ActivityDependencies, 'bundles' | 'organizations'>,
  organization: Organization,
): Promise<HeldSite[]> {
  const listed = await listedSites(deps, organization);
  const held: HeldSite[] = [];
  for (const { domain } of organization.sites) {
    const hold = listed.get(domain)?.held ? await deps.bundles.holds.of(domain) : null;
    // `rollout.failed` tells of a version that a check refused.
    if (hold !== null && !hold.refused)
      held.push({ domain, version: hold.version, since: hold.since, waiting: hold.waiting });
  }
  return held;
}

type Drifted = NonNullable<Sight['drifted']>;

/** What is recorded, while `current` was the current version: most looks see nothing new and read nothing. */
interface Look {
  observed: ObservedTargets;
  current: string | null;
  /** By the monotonic clock, in milliseconds. */
  lookedAt: number;
}
const recorded = new WeakMap<BundleStore, Map<string, Look>>();

const sitesAtOnce = 10;
/**
 * A place that takes longer than `place` cannot be read by this look. After `look` no further site is begun: those left
 * over are the first of the next look. In milliseconds; together they stay below the time-out of the step.
 */
const usualPatience = { place: 10_000, look: 60_000 };

/** Places that have been asked and have not answered yet: nobody asks them again meanwhile. */
const asked = new WeakSet<Place>();

/** What the target runs now; unknown if its place does not say so in time, so that none holds up the look at others. */
async function observeInTime({ place }: Pick<RolloutTarget, 'place'>, withinMs: number): Promise<Observed> {
  const late = { runs: 'unknown', why: `it did not answer within ${spanText(withinMs)}` } as const;
  if (!place) return observe({});
  if (asked.has(place)) return late;
  asked.add(place);
  const answer = place.observe().finally(() => asked.delete(place));
  return (await answerWithin(withinMs, answer)) ?? late;
}

/**
 * Reads targets back and records what differs from the look before (E9). `listed`: what is in service. The result lacks
 * sites for which there was no time.
 */
export async function observeTargets(
  { bundles }: Pick<ActivityDependencies, 'bundles'>,
  { sites }: Pick<Organization, 'sites'>,
  at: Date,
  listed: ReadonlyMap<string, InService> | null = null,
  patience = usualPatience,
): Promise<ReadonlyMap<string, ObservedTargets>> {
  const known = recorded.get(bundles) ?? new Map<string, Look>();
  recorded.set(bundles, known);
  const began = performance.now();
  const seen = new Map<string, ObservedTargets>();
  const lookedAt = ({ domain }: { domain: string }) => known.get(domain)?.lookedAt ?? 0;
  const wanted = sites.filter(({ targets }) => targets.length > 0).sort((a, b) => lookedAt(a) - lookedAt(b));
  await inBatches(wanted, sitesAtOnce, async ({ domain, targets }) => {
    if (performance.now() - began > patience.look) return;
    const current = listed?.get(domain)?.current ?? null;
    const last = known.get(domain);
    const before = last?.current === current ? last.observed : await bundles.observed(domain);
    const found = await Promise.all(
      targets.map(
        async (target) =>
          [target.name, observedTarget(await observeInTime(target, patience.place), before[target.name], at)] as const,
      ),
    );
    const now = Object.fromEntries(found);
    if (JSON.stringify(now) !== JSON.stringify(before)) await bundles.recordObserved(domain, now);
    known.set(domain, { observed: now, current, lookedAt: performance.now() });
    seen.set(domain, now);
  });
  return seen;
}

/**
 * Drift: targets whose last rollout put the current version there, but that run another one now, or none, as read back from
 * them. `unread` names the sites with a target that could not be read. Only a target that differs from the listing costs
 * requests to the store, which say what is current now: a rollout may have followed the listing.
 */
export async function driftedTargets(
  deps: Pick<ActivityDependencies, 'bundles' | 'organizations'>,
  organization: Organization,
  at: Date,
): Promise<{ drifted: Drifted; unread: string[] }> {
  const { bundles } = deps;
  const listed = await listedSites(deps, organization);
  const seen = await observeTargets(deps, organization, at, listed);
  const found: Drifted = [];
  const unread = organization.sites.flatMap(({ domain, targets }) => {
    const observed = seen.get(domain);
    const isRead = targets.every(({ name, place }) => !place || (observed?.[name]?.runs ?? 'unknown') !== 'unknown');
    return isRead ? [] : [domain];
  });
  for (const [domain, observed] of seen) {
    const listedVersion = listed.get(domain)?.current;
    if (!listedVersion) continue;
    for (const [target, { runs, version: running }] of Object.entries(observed)) {
      if (runs === 'unknown' || running === listedVersion) continue;
      const version = (await bundles.current(domain))?.version;
      if (version === undefined || running === version) continue;
      if ((await bundles.rolledOut(domain, target)) !== version) continue;
      found.push({ domain, target, version, running: running ?? 'nothing' });
    }
  }
  return { drifted: found, unread };
}

/** Another worker may know a site that this one's configuration lacks: for so long its notices stay. */
const unknownForMs = 86_400_000;

/** The notices about what is configured, and old ones about what is not any more: nobody has to act on those. */
function byConfiguration(
  { id, sites, projects, webhooks }: Organization,
  open: readonly NoticeRow[],
  at: Date,
): [configured: NoticeRow[], left: NoticeRow[]] {
  const named = [
    ...sites.map(({ domain }) => domain),
    ...projects.map((one) => one.id),
    ...webhooks.map(({ name }) => name),
  ];
  const isKnown = ({ subject }: NoticeRow) => [id, ...named].some((name) => isAbout(subject, name));
  const isOld = ({ changedAt }: NoticeRow) => at.getTime() - Date.parse(changedAt) >= unknownForMs;
  return [open.filter(isKnown), open.filter((row) => !isKnown(row) && isOld(row))];
}

interface LookedAround extends LastLook {
  /** The first conditions that hold now: `export.late docs.acme.example`. */
  holding: string[];
  count: number;
}

const named = 20;

/** What the watch of an organization does (docs/webhooks.md). */
export const createWatchActivities = (deps: ActivityDependencies) => ({
  /** Checks once which of the watched conditions begin or end, and sends notices. Safe to repeat. */
  async lookAround({ org, last }: { org: string; last: LastLook }): Promise<LookedAround> {
    const organization = organizationOf(deps, org);
    const at = scheduledAt();
    const recorded = await ifReadable('runs that were cut off', () => recordCutRuns(deps, org, last.at ?? 0));
    const look = { since: last.since, at: recorded === null ? last.at : at.getTime() };
    if (organization.webhooks.length === 0) {
      // Nobody to notify, but people look at `export status` and the console.
      await ifReadable('targets', async () =>
        observeTargets(deps, organization, at, await listedSites(deps, organization)),
      );
      return { ...look, absent: [], holding: [], count: 0 };
    }
    const { workflowExecution, activityId } = activityInfo();
    const who = { org, by: `watch ${workflowExecution?.runId} ${activityId}`, at };
    const openNotices = async () => (await deps.feedback.noticeRows(org)).filter((row) => row.open);
    const [open, left] = byConfiguration(organization, await openNotices(), at);
    const approvals = open.flatMap(({ type, subject, since: asked, until }) =>
      type === 'approval.wanted' && until !== null ? [{ domain: subject, since: asked, until }] : [],
    );
    const sight: Sight = {
      ...(await lookAt(deps, organization, at)),
      now: at.getTime(),
      since: last.since,
      approvals,
    };
    const next = changesSince(watchedConditions(sight), open, last.absent);
    const back = open.flatMap(({ type, subject, mark }) => {
      const webhook = organization.webhooks.find(({ name }) => name === subject);
      const isBack = webhook !== undefined && !isGone(webhook, new Map([[subject, mark]]));
      return type === 'webhook.gone' && isBack ? [{ type, subject, state: 'ended' } as const] : [];
    });
    // Given up by a run that was terminated.
    const over = approvals
      .filter(({ until }) => Date.parse(until) + lateMs < sight.now)
      .map(({ domain }) => ({ type: 'approval.wanted', subject: domain, state: 'ended', silent: true }) as const);
    const removed = left.map(({ type, subject }) => ({ type, subject, state: 'ended', silent: true }) as const);
    await recordNotices(deps, [...next.changes, ...back, ...over, ...removed], who);
    await ifReadable('entries and digests', () => sendReports(deps, organization, at));
    await sendDueNotices(deps, org, at);
    const holding = (await openNotices()).map(({ type, subject }) => `${type} ${subject}`);
    return { ...look, absent: next.absent, holding: holding.slice(0, named), count: holding.length };
  },
});

/** Of a site or project, more runs than end beside one that was cut off. */
const latestRuns = 20;

/**
 * Leaves the rows of runs that were cut off and could not do it themselves (X4), and sends their notices; those that left
 * one are left alone. Safe to repeat. Of what was reset people know, and another run goes on.
 */
async function recordCutRuns(deps: ActivityDependencies, org: string, since: number): Promise<void> {
  for (const run of await deps.outlook.cutRuns(org, since)) {
    const noticed = await (run.target.kind === 'export'
      ? recordCutExport(deps, run, run.target.domain)
      : recordCutPass(deps, run));
    if (!run.wasReset) await noticed?.();
  }
}

type SendNotices = () => Promise<void>;

async function recordCutExport(
  deps: ActivityDependencies,
  { target: { org }, workflowId, runId, type, startedAt, endedAt, why, outcome }: CutRun,
  domain: string,
): Promise<SendNotices | null> {
  const detail = JSON.stringify({ error: why });
  const rows = await deps.feedback.listExportRuns({ org, domain, limit: latestRuns });
  const own = rows.find((row) => row.runId === runId);
  if (own !== undefined && own.detail !== detail) return null;
  const row = {
    workflowId,
    runId,
    org,
    domain,
    startedAt: startedAt.toISOString(),
    finishedAt: endedAt.toISOString(),
    outcome,
    jobId: null,
    jobsStarted: 0,
    version: null,
    contentDigest: null,
    polls: 0,
    detail,
    jobMs: null,
  } as const;
  await deps.feedback.recordExportRun(row);
  // Who asks for a rollback sees how it ends.
  return type === workflowTypes.rollBack ? null : () => recordExportNotices(deps, row);
}

async function recordCutPass(
  { feedback, ...deps }: ActivityDependencies,
  { target, workflowId, runId, firstRunId, startedAt, endedAt, why, wasReset, outcome }: CutRun,
): Promise<SendNotices | null> {
  const { org } = target;
  const isPass = target.kind === 'sync';
  // The run that goes on ends the row of the pass.
  if (isPass && wasReset) return null;
  const { project, pass } = isPass ? target : { project: '', pass: 'refresh' as const };
  // As `endRefreshRun` names the row of a refresh that failed.
  const passId = isPass ? firstRunId : `refresh:${org}:${runId}`;
  const about = { passId, org, project, pass, workflowId, runId, dateFrom: null, dateTo: null, startedAt };
  const { waitedMs } = await feedback.beginPass(about);
  const row = await feedback.finishPass(passId, { outcome, error: why, waitedMs, finishedAt: endedAt });
  if (!isPass || row.error !== why) return null;
  return async () => {
    const passes = await feedback.listPasses({ org, project, limit: latestRuns });
    const ended = passes.filter((one) => one.pass === pass && one.finishedAt !== null);
    if (ended[0]?.passId !== passId) return;
    await recordNotices({ feedback, ...deps }, passNotices(row), { org, by: `pass ${passId}`, at: endedAt });
  };
}

/** Messages that one look sends to a webhook about a project at most; the next look sends more. */
const mostMessages = 20;

/**
 * Starts deliveries of entries that changed since the last look, and of digests that are due. If the worker dies before it
 * stores the position, it sends the message again: receivers recognise its entries by `change`.
 */
async function sendReports(deps: ActivityDependencies, organization: Organization, at: Date): Promise<void> {
  const { id: org, projects, webhooks } = organization;
  const gone = await goneWebhooks(deps, org);
  for (const webhook of webhooks) {
    if (isGone(webhook, gone)) continue;
    const projectsSent = webhook.events.includes('feedback.entries') ? projects : [];
    for (const { id } of projectsSent) await sendChanges(deps, org, webhook, id, at);
    await sendDigest(deps, org, webhook, at);
  }
}

/** Sends what changes after the first look; `feedback export` has what was stored before. */
async function sendChanges(deps: ActivityDependencies, org: string, webhook: Webhook, project: string, at: Date) {
  const { feedback } = deps;
  const newest = await feedback.newestChange(project);
  const known = await feedback.webhookPosition(org, webhook.name, project);
  if (known === null) await feedback.moveWebhookPosition(org, webhook.name, project, newest);
  let after = known ?? newest;
  for (let messages = 0; after < newest && messages < mostMessages; messages += 1) {
    const range = { org, project, after, upTo: newest };
    const changed = await feedback.changedEntries(range, webhook.entries ?? {}, entriesAtOnce);
    const upTo = changed.length < entriesAtOnce ? newest : (changed.at(-1)?.change ?? newest);
    const event = { type: 'feedback.entries', timestamp: at.toISOString(), data: { ...range, upTo } } as const;
    if (changed.length > 0) await deliver(deps, org, webhook, event);
    await feedback.moveWebhookPosition(org, webhook.name, project, upTo);
    after = upTo;
  }
}

const weekMs = 7 * 24 * hourMs;
/** A Monday, 0:00 UTC. */
const firstMonday = Date.UTC(1970, 0, 5);

/** The first digest goes out at the webhook's next weekly time and covers one week; of missed ones only the latest is sent. */
async function sendDigest(deps: ActivityDependencies, org: string, webhook: Webhook, at: Date): Promise<void> {
  const { digestMs = null, name } = webhook;
  if (digestMs === null) return;
  const due = at.getTime() - ((at.getTime() - firstMonday - digestMs) % weekMs);
  const sent = await deps.feedback.webhookPosition(org, name, digestOf);
  if (sent !== null && sent >= due) return;
  if (sent !== null) {
    const [from, to] = [new Date(due - weekMs).toISOString(), new Date(due).toISOString()];
    await deliver(deps, org, webhook, { type: 'digest', timestamp: at.toISOString(), data: { org, from, to } });
  }
  await deps.feedback.moveWebhookPosition(org, name, digestOf, due);
}

/** Takes the place of a project's id, which never has a colon. */
const digestOf = ':digest';

async function deliver(deps: ActivityDependencies, org: string, { name }: Webhook, event: WebhookEvent): Promise<void> {
  await deps.deliver({ org, webhook: name, messageId: messageIdOf([org, name, event.type, event.data]), event });
}

/** An approval that no run has ended so long after its time has no run any more. */
const lateMs = hourMs;

type Looked = Pick<Sight, 'projects' | 'sites' | 'holds' | 'drifted' | 'unread' | 'budget' | 'refusedRuns'>;

async function lookAt(deps: ActivityDependencies, organization: Organization, at: Date): Promise<Looked> {
  const { id: org } = organization;
  const [exported, holds, drifted, view, count] = await Promise.all([
    deps.feedback.lastExports(org),
    ifReadable('holds', () => heldSites(deps, organization)),
    ifReadable('targets', () => driftedTargets(deps, organization, at)),
    ifReadable('budget', () => deps.outlook.budget(org)),
    ifReadable('refused runs', () => deps.outlook.refusedRuns(org)),
  ]);
  return {
    projects: await newestReadings(deps, organization),
    sites: organization.sites.flatMap(({ domain, lateAfterMs: limitMs }) =>
      limitMs === undefined ? [] : [{ domain, limitMs, lastExport: exported.get(domain) ?? null }],
    ),
    holds,
    drifted: drifted?.drifted ?? null,
    unread: drifted?.unread ?? [],
    budget: view === null ? null : { org, view },
    refusedRuns: count === null ? null : { org, count },
  };
}

/** When the newest entries of projects were last read, as `status` says it, and within how long they should be. */
async function newestReadings(
  { feedback }: ActivityDependencies,
  { id: org, projects }: Organization,
): Promise<NonNullable<Sight['projects']>> {
  const at = scheduledAt().getTime();
  const wanted = { sites: [], projects: projects.map(({ id: project }) => ({ org, project })) };
  const limits = new Map(projects.map(({ id, freshnessMs }) => [id, freshnessMs]));
  const read = async () =>
    (await feedback.latestRecords(wanted)).projects.map(({ project, newestReadAt }) => ({
      project,
      limitMs: limits.get(project) ?? 0,
      readAt: newestReadAt === null ? null : Date.parse(newestReadAt),
    }));
  const found = await read();
  const ahead = found.filter(({ readAt }) => readAt !== null && readAt > at + hourMs);
  if (ahead.length === 0) return found;
  // The clock was ahead: counted from now on, or nothing would be stale before it is that late again.
  const names = ahead.map(({ project }) => project);
  await feedback.prepareRefresh(org, names, at);
  return read();
}

/** Null for what cannot be read now: the next look will. */
async function ifReadable<Value>(what: string, read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    log.warn('the watch could not read everything', { what, failure: nameOf(error) });
    return null;
  }
}
