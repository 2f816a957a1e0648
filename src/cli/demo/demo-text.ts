import { join } from 'node:path';
import { counted, countText, sizeText, spanText } from '../../rules/text.ts';
import { sandboxOrganization } from '../parts/sandbox-part.ts';
import { bundlePlace } from '../stores.ts';
import type { Paint } from '../terminal/output.ts';
import { factLines, indent } from '../terminal/text.ts';
import type { DemoResult, Stage } from './demo-story.ts';

const { id: org, domain } = sandboxOrganization;

/** Whether the demo showed what it promises: a published version, all feedback stored, the budget kept. */
export function isWhole(stage: Stage, told: DemoResult): boolean {
  const published = told.export.outcome === 'published' && told.again.outcome === 'unchanged';
  const rolledOut = told.export.rollouts.every(({ outcome }) => outcome !== 'failed');
  const { requests } = budgetOf(stage);
  const { most, refused } = trafficOf(stage);
  return published && rolledOut && told.stored === told.served && most <= requests && refused === 0;
}

export function demoDocument(stage: Stage, told: DemoResult): object {
  const { most, refused } = trafficOf(stage);
  return {
    export: told.export,
    feedback: told.feedback,
    addresses: addressesOf(stage, told),
    again: told.again,
    sandbox: { entries: told.served, mostRequestsInAnyWindow: most, refused },
    stored: told.stored,
  };
}

/** The summary for people. */
export function demoText(stage: Stage, told: DemoResult, { keep, paint }: { keep: boolean; paint: Paint }): string {
  const { export: first, feedback, again } = told;
  const { most, refused } = trafficOf(stage);
  const { requests, windowMs } = budgetOf(stage);
  const rollouts = first.rollouts.map(({ target, outcome }) => `${outcome} to ${target}`);
  const verdict = isWhole(stage, told) ? paint.green('Done.') : paint.red('Something went wrong: see below.');
  const files = addressesOf(stage, told);
  return [
    verdict,
    '',
    paint.bold(`Export of ${domain}`),
    indent(
      factLines([
        ['version', `${first.version ?? '-'} (${first.outcome})`],
        ['digest', first.contentDigest ?? '-'],
        [
          'content',
          `${counted(first.pages, 'page')}, ${counted(first.files, 'file')}, ${sizeText(first.archive?.bytes ?? 0)}`,
        ],
        ['polls', `${first.polls}`],
        ['rollout', rollouts.join(', ') || 'none'],
        ['again', `${again.outcome}: the same content is not published twice`],
      ]),
    ),
    paint.bold(`Feedback of ${feedback.project}`),
    indent(
      factLines([
        ['entries', `${countText(told.stored)} stored of ${countText(told.served)} in the sandbox`],
        ['requests', `${countText(feedback.requests)} for ${counted(feedback.pages, 'page')}`],
        [
          'budget',
          `${requests} requests in ${spanText(windowMs)}: at most ${most} in any window, ${refused} refused with 429`,
        ],
        ['waited', `${spanText(feedback.waitedMs)} for the budget`],
      ]),
    ),
    paint.bold(keep ? 'To look at' : 'To look at (files stay; `docferry demo --keep` leaves the servers running)'),
    indent(factLines(Object.entries(files).filter(([name]) => keep || !servers.has(name)))),
  ].join('\n');
}

function budgetOf({ config }: Stage): { requests: number; windowMs: number } {
  const budget = config.organizations.find(({ id }) => id === org)?.budget;
  return { requests: budget?.requests ?? 0, windowMs: budget?.windowMs ?? 0 };
}

/** What the sandbox received: the most analytics requests in any window, and how many it refused. */
function trafficOf({ sandbox }: Stage): { most: number; refused: number } {
  const seen = sandbox.stats().organizations[org];
  return { most: seen?.maxInAnyWindow ?? 0, refused: seen?.throttled ?? 0 };
}

/** Addresses that end with the demo. */
const servers: ReadonlySet<string> = new Set(['temporal', 'ui', 'bundle', 'sandbox']);

function addressesOf({ config, folder, sandbox, uiUrl, configFile, workerLog }: Stage, told: DemoResult) {
  return {
    temporal: config.temporal.address,
    ui: uiUrl,
    bundle: told.export.url ?? '',
    sandbox: sandbox.url,
    site: join(folder, 'site', 'current', 'index.html'),
    bundles: bundlePlace(config.store.bundles),
    database: config.store.feedback.place,
    config: configFile,
    log: workerLog,
  };
}
