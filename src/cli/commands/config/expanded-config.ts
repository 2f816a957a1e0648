import { renderRuleTexts } from '../../../exports/rules/render-rules.ts';
import { siteRuleTexts } from '../../../exports/rules/site-rules.ts';
import type { BundleStoreConfig, Config, OrganizationConfig, Schedule, SiteConfig } from '../../../config/config.ts';
import { everyText } from '../budget/interval-lines.ts';

const usualRules = Object.fromEntries(
  Object.entries({ ...siteRuleTexts, ...renderRuleTexts }).map(([name, { level }]) => [name, level]),
);

/**
 * The configuration in the words of docferry.yaml, with nothing left out: defaults, absolute paths, sizes in bytes, an
 * entry for each site. In place of a secret stands where it comes from.
 */
export function expandedConfig({ temporal, service, organizations, store, privacy }: Config): object {
  const { given: _given, ...where } = temporal;
  return {
    temporal: where,
    service,
    organizations: organizations.map(expandedOrganization),
    store: { feedback: store.feedback.place, bundles: expandedBundles(store.bundles), keep: store.keep },
    privacy: {
      contacts: privacy.contacts,
      comments: privacy.comments,
      hashKey: privacy.hashKey?.describe() ?? null,
      keepFields: privacy.keepFields,
      retention: privacy.retentionMs === null ? null : durationText(privacy.retentionMs),
    },
  };
}

function expandedOrganization({
  id,
  apiKey,
  budget,
  spare,
  webhooks,
  watchEveryMs,
  projects,
  sites,
}: OrganizationConfig): object {
  return {
    id,
    apiKey: apiKey.describe(),
    budget: {
      requests: budget.requests,
      window: durationText(budget.windowMs),
      reserve: budget.reserve,
      arrival: durationText(budget.arrivalMs),
      spare: spare ?? null,
    },
    webhooks: webhooks.map(({ name, url, format, secret, events }) => ({
      name,
      url: url.describe(),
      format,
      ...(secret && { secret: secret.describe() }),
      events,
    })),
    watchEvery: durationText(watchEveryMs),
    projects: projects.map(({ id: project, name, incremental, review, sweep, freshnessMs }) => ({
      id: project,
      name: name ?? null,
      incremental: expandedSchedule(incremental),
      review: expandedSchedule(review),
      sweep: expandedSchedule(sweep),
      freshness: freshnessMs === undefined ? null : durationText(freshnessMs),
    })),
    sites: sites.map(expandedSite),
  };
}

function expandedSite({ domain, schedule, lateAfterMs, job, bundle, approval, rollout }: SiteConfig): object {
  const { maxBytes, maxFiles, connections, timeoutMs, rules, render } = bundle;
  return {
    domain,
    schedule: expandedSchedule(schedule),
    lateAfter: lateAfterMs === undefined ? null : durationText(lateAfterMs),
    job: {
      timeout: durationText(job.timeoutMs),
      attempts: job.attempts,
      startTimeout: durationText(job.startTimeoutMs),
    },
    bundle: {
      maxBytes,
      maxFiles,
      connections,
      timeout: durationText(timeoutMs),
      rules: { ...usualRules, ...rules },
      render,
    },
    approval: approval === null ? 'none' : 'manual',
    approvalTimeout: approval === null ? null : durationText(approval.timeoutMs),
    rollout: rollout.map((target) =>
      target.kind === 'directory' ? { directory: { path: target.path } } : { helmValues: { file: target.file } },
    ),
  };
}

function expandedSchedule(schedule: Schedule | undefined): object | null {
  if (schedule === undefined) return null;
  const { everyMs, cron, timezone, jitterMs } = {
    everyMs: undefined,
    cron: undefined,
    timezone: undefined,
    ...schedule,
  };
  const jitter = durationText(jitterMs);
  return everyMs === undefined ? { cron, timezone, jitter } : { every: durationText(everyMs), jitter };
}

function expandedBundles({ signing, server, publicUrl, ...place }: BundleStoreConfig): object {
  const { kind, ...where } = place;
  return {
    ...(kind === 's3' ? { s3: where } : where),
    publicUrl,
    signing: signing && { keyFile: signing.keyFile, password: signing.password?.describe() ?? null },
    server: {
      token: server.token?.describe() ?? null,
      readers: server.readers,
      readersPerAddress: server.readersPerAddress,
      idle: durationText(server.idleMs),
    },
  };
}

function durationText(ms: number): string {
  return ms === 0 ? '0s' : everyText(ms);
}
