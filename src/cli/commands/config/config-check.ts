import { stringify } from 'yaml';
import type { Config, FeedbackStoreConfig } from '../../../config/config.ts';
import { spanText } from '../../../rules/details-text.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { bundlePlace } from '../../bundle-place.ts';
import type { Paint } from '../../terminal/output.ts';
import { factLines, indent, projectTitle } from '../../terminal/text.ts';
import { expandedConfig } from './expanded-config.ts';
import { privacyText } from './privacy-text.ts';

export default async function checkConfig(context: CommandContext, flags: { expand?: boolean }): Promise<ExitCode> {
  const config = await loadContextConfig(context, 'required');
  if (flags.expand) {
    const expanded = expandedConfig(config);
    context.output.result(expanded, stringify(expanded, { lineWidth: 0 }).trimEnd());
    return exitCodes.done;
  }
  context.output.result(documentOf(config), textOf(config, context.output.paint));
  return exitCodes.done;
}

function documentOf({ file, temporal, service, organizations, store, privacy }: Config): object {
  return {
    ok: true,
    file,
    temporal: { address: temporal.address, namespace: temporal.namespace, taskQueue: temporal.taskQueue },
    service: { baseUrl: service.baseUrl, analyticsBaseUrl: service.analyticsBaseUrl },
    organizations: organizations.map(({ id, budget, spare, webhooks, projects, sites }) => ({
      id,
      budget,
      spare: spare ?? null,
      webhooks: webhooks.map(({ name, format, events }) => ({ name, format, events })),
      projects: projects.map((project) => project.id),
      sites: sites.map(({ domain, rollout }) => ({ domain, rollouts: rollout.map(({ name }) => name) })),
    })),
    store: { feedback: store.feedback.place, bundles: bundlePlace(store.bundles), publicUrl: store.bundles.publicUrl },
    privacy: { ...privacy, hashKey: privacy.hashKey?.describe() ?? null },
  };
}

function textOf({ file, temporal, service, organizations, store, privacy }: Config, paint: Paint): string {
  const facts: [string, string][] = [
    ['temporal', `${temporal.address}, namespace ${temporal.namespace}, task queue ${temporal.taskQueue}`],
    ['service', service.baseUrl],
    ['feedback', feedbackText(store.feedback)],
    ['bundles', `${bundlePlace(store.bundles)}, published under ${store.bundles.publicUrl}`],
  ];
  const personal = privacyText(privacy);
  if (personal !== null) facts.push(['personal data', personal]);
  for (const { id, apiKey, budget, spare, webhooks, projects, sites } of organizations) {
    const { requests, windowMs, reserve } = budget;
    facts.push([id, `key from ${apiKey.describe()}`]);
    facts.push([
      '',
      `budget ${requests} requests in ${spanText(windowMs)}, ${reserve} left to others${spare ? ', spare requests re-read' : ''}`,
    ]);
    if (webhooks.length > 0) facts.push(['', `webhooks ${webhooks.map(({ name }) => name).join(', ')}`]);
    if (projects.length > 0)
      facts.push(['', `projects ${projects.map(({ id, name }) => projectTitle({ project: id, name })).join(', ')}`]);
    if (sites.length > 0) facts.push(['', `sites ${sites.map(({ domain }) => domain).join(', ')}`]);
  }
  return `${file}: ${paint.green('good')}\n${indent(factLines(facts))}`;
}

function feedbackText(feedback: FeedbackStoreConfig): string {
  if (feedback.kind === 'sqlite') return feedback.place;
  const password = feedback.password === null ? 'no password written' : `password from ${feedback.password.describe()}`;
  return `${feedback.place}, ${password}, sslmode ${feedback.tls.mode}`;
}
