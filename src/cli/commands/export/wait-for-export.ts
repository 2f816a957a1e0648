import type { Client, WorkflowHandle } from '@temporalio/client';
import {
  type ExportInput,
  type ExportResult,
  type ExportState,
  endsWell,
  failedTargets,
  type Reason,
  type RollbackInput,
  type RollbackResult,
  type RolloutResult,
} from '../../../exports/rules/site-export.ts';
import type { SiteHold } from '../../../exports/store/bundle-store.ts';
import { exportState } from '../../../operations/exports.ts';
import { counted, sizeText } from '../../../rules/text.ts';
import type { CommandContext } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { refusedKey, type Session } from '../../session.ts';
import type { Paint } from '../../terminal/output.ts';
import { exportStep } from '../../terminal/progress.ts';
import type { Interrupt } from '../../terminal/prompts.ts';
import { factLines, indent, timeText } from '../../terminal/text.ts';
import { type Waiting, waitShowing } from '../../waiting.ts';

/** What runs under the id of a site's exports. */
export type AwaitedWorkflow = (input: ExportInput & RollbackInput) => Promise<ExportResult | RollbackResult>;

interface Awaited {
  org: string;
  domain: string;
  handle: WorkflowHandle<AwaitedWorkflow>;
  /** Null waits as long as it takes. */
  timeoutMs: number | null;
  /** Whether it ran before the command that started it; absent where none did. */
  joined?: boolean;
}

/** Shows the progress of a site's export or rollback until it ends, then its result; returns the exit code. */
export async function waitForExport(
  { output }: CommandContext,
  session: Session,
  { interrupt, ...awaited }: Awaited & { interrupt?: Interrupt },
): Promise<ExitCode> {
  const waiting = await waitingFor(session.client, awaited, output.paintNotes);
  const result = await waitShowing(output, session, { ...waiting, interrupt });
  const { paint } = output;
  output.result(result, 'previous' in result ? rollbackResultText(result, paint) : exportResultText(result, paint));
  // A failure too, though its result is printed.
  return endsWell(result.outcome) ? exitCodes.done : exitCodes.failed;
}

/** What a wait for a site's export or rollback asks and shows; a refused key ends it while the export continues. */
export async function waitingFor(
  client: Client,
  { org, domain, handle, timeoutMs, joined }: Awaited,
  paint: Paint,
): Promise<Waiting<AwaitedWorkflow, ExportState>> {
  const readState = () => exportState(client, org, domain);
  const refusedOf = ({ unauthorized }: ExportState) => unauthorized?.nextTryAt ?? null;
  const refusal = joined === undefined ? null : await refusedKey(client, { org, joined, read: readState, refusedOf });
  const cancel = `docferry export cancel ${domain}`;
  return {
    handle,
    label: domain,
    readState,
    stepOf: (state) => exportStep(state, Date.now(), paint),
    ...(refusal && { troubleOf: (state) => refusal(state, cancel) }),
    timeoutMs,
    follow: `docferry export watch ${domain}`,
    cancel,
  };
}

/** The result of an export for people. */
export function exportResultText(result: ExportResult, paint: Paint): string {
  const { domain, outcome, version, contentDigest, archive, pages, files, url, jobId, polls, jobsStarted, held } =
    result;
  const heading = {
    published: `${paint.green('published')} a new version of ${domain}`,
    unchanged: `${paint.green('unchanged')}: ${domain} is the same as published`,
    'rollout-failed': `${paint.red('rollout failed')}: ${domain} is published, but ${failedTargets(result.rollouts).join(', ')} did not get it`,
    rejected: `${paint.red('rejected')}: the bundle of ${domain} was refused, what is in service stays`,
  }[outcome];
  const facts: (readonly [string, string])[] = [];
  if (version !== null) facts.push(['version', version]);
  if (held !== null) {
    const end = `\`docferry export release ${domain}\``;
    const isReturned = result.reasons.length > 0;
    facts.push(['held', `${domain} stays at ${held} until ${isReturned ? `other content comes, or ${end}` : end}`]);
  }
  if (contentDigest !== null) facts.push(['digest', contentDigest]);
  if (archive !== null) facts.push(['archive', `${archive.format}, ${sizeText(archive.bytes)}`]);
  facts.push(['content', `${counted(pages, 'page')}, ${counted(files, 'file')}`]);
  if (url !== null) facts.push(['url', url]);
  facts.push(['job', `${jobId ?? 'none'}${jobsStarted > 1 ? ` (${jobsStarted} jobs were started)` : ''}`]);
  facts.push(['polls', `${polls}`]);
  facts.push(...rolloutFacts(result.rollouts, paint));
  const lines = [heading, indent(factLines(facts))];
  if (result.reasons.length > 0) lines.push('reasons:', reasonLines(result.reasons));
  return lines.join('\n');
}

/** The result of a rollback for people. */
export function rollbackResultText(result: RollbackResult, paint: Paint): string {
  const { domain, version, previous, pages, files, url, rollouts } = result;
  const facts: (readonly [string, string])[] = [
    ['before', previous ?? 'nothing'],
    ['held', `${domain} stays there until \`docferry export release ${domain}\``],
    ['content', `${counted(pages, 'page')}, ${counted(files, 'file')}`],
    ['url', url],
    ...rolloutFacts(rollouts, paint),
  ];
  const failed = failedTargets(rollouts);
  const heading =
    failed.length === 0
      ? `${paint.green('rolled back')} ${domain} to ${version}`
      : `${paint.red('rollout failed')}: ${version} of ${domain} is current again, but ${failed.join(', ')} did not get it`;
  return `${heading}\n${indent(factLines(facts))}`;
}

/** A line for each target. */
export function rolloutFacts(rollouts: readonly RolloutResult[], paint: Paint): [string, string][] {
  return rollouts.map(({ target, outcome, detail }) => [
    target,
    `${outcome === 'failed' ? paint.red(outcome) : outcome}: ${detail}`,
  ]);
}

/** A line for each reason. */
export function reasonLines(reasons: readonly Reason[]): string {
  return reasons.map(({ rule, path, detail }) => `  ${rule}${path === null ? '' : `  ${path}`}: ${detail}`).join('\n');
}

/** A hold in words: where, since when, why, and what waits for its end. */
export function holdText({ version, since, reason, waiting, refused }: SiteHold): string {
  const why = reason === null ? '' : `: ${reason}`;
  const next = refused
    ? `\n${refused.version} was refused; other content ends this, or \`docferry export release\``
    : waiting === null
      ? ''
      : `\n${waiting} waits for the release`;
  const where = refused?.version === version ? 'nothing is in service' : `held at ${version}`;
  return `${where} since ${timeText(since)} UTC${why}${next}`;
}
