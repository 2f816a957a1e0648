import { waitText } from '../../budget/rules/window-view.ts';
import {
  changesText,
  type ExportResult,
  type ExportState,
  failedTargets,
  type Reason,
  type RollbackResult,
  type RolloutResult,
  reasonText,
  type Transfer,
  transferFacts,
  transferPercent,
} from '../../exports/rules/site-export.ts';
import type { SiteHold } from '../../exports/store/bundle-store.ts';
import type { SyncState } from '../../feedback/rules/sync.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import {
  barText,
  clockTime,
  counted,
  forecastText,
  momentText,
  sizeText,
  spanText,
  visibleText,
} from '../../rules/text.ts';
import { triedAgain } from '../../temporal/connection.ts';
import type { Paint, Step } from '../context.ts';
import { factLines, indent, timeText } from './text.ts';

/** A progress bar with its percentage; an empty bar when the progress is unknown. */
export function bar(percent: number | null, paint: Paint): string {
  if (percent === null) return paint.dim(barText(0));
  const shown = Math.min(100, Math.max(0, percent));
  return `${paint.green(barText(shown))} ${Math.floor(shown)} %`;
}

interface Shown {
  key: string;
  /** What a terminal shows for the phase. */
  phase: string;
  facts: readonly string[];
  /** What a log says instead. */
  logged?: readonly string[];
}

/** A phase and facts about it, on a terminal and, with commas, in a log. */
function stepOf(name: string, { key, phase, facts, logged = facts }: Shown): Step {
  return { key: `${name} ${key}`, text: [phase, ...facts].join('  '), line: [name, ...logged].join(', ') };
}

/** The progress of an export: phase, percent, pages, next poll and why. */
export function exportStep(state: ExportState, now: number, paint: Paint): Step {
  const { phase, progress, nextPoll, unauthorized, approval, failedStart, version } = state;
  const stopped = (key: string | number, why: string) =>
    stepOf(phase, { key: `${key}`, phase: paint.yellow(phase), facts: [why] });
  if (unauthorized) return stopped(unauthorized.nextTryAt, refusedText(unauthorized.nextTryAt));
  if (approval) {
    const why = [...approval.asks.map(reasonText), changesText(approval.changes)].join('; ');
    const how = `docferry export approve ${state.domain}, or reject ${state.domain} --reason …`;
    const until = momentText(approval.expiresAt, now);
    return stopped(approval.version, `${approval.version} waits for approval until ${until} (${why}): ${how}`);
  }
  if (phase === 'fetching' && state.download !== null) return downloadStep(state.download, paint);
  if (failedStart) {
    const again = triedAgain({ ...failedStart, paused: false });
    return stopped(failedStart.attempt, `startJob ${again}: ${withoutFailureType(failedStart.reason)}`);
  }
  if (phase !== 'rendering' || progress === null) {
    return stepOf(phase, { key: '', phase: paint.bold(phase), facts: version === null ? [] : [version] });
  }
  const { percent, pageCount, polls, jobsStarted, possibleDuplicates } = progress;
  const facts = [
    pageCount === null ? '' : counted(pageCount, 'page'),
    jobsStarted - possibleDuplicates > 1 ? `job ${jobsStarted - possibleDuplicates}` : '',
  ].filter((fact) => fact !== '');
  const pollIn = nextPoll === null ? [] : [`next poll in ${spanText(nextPoll.at - now)}`];
  const pollAt = nextPoll === null ? [] : [`next poll ${clockTime(nextPoll.at)} (${nextPoll.reason})`];
  return stepOf(phase, {
    // Ten lines of a log from start to end.
    key: `${jobsStarted} ${percent === null ? (polls > 0 ? 'asked' : 'new') : Math.floor(percent / 10)}`,
    phase: paint.bold(phase),
    facts: [bar(percent, paint), ...facts, ...pollIn],
    logged: [...percentOf(percent), ...facts, ...pollAt],
  });
}

const percentOf = (percent: number | null): string[] => (percent === null ? [] : [`${Math.floor(percent)} %`]);

const refusedText = (nextTryAt: number): string => `the API key is refused (401), next try at ${clockTime(nextTryAt)}`;

/** Ten lines of a log from start to end. */
function downloadStep(download: Transfer, paint: Paint): Step {
  const percent = transferPercent(download);
  const facts = transferFacts(download);
  return stepOf('fetching', {
    key: percent === null ? 'unknown' : `${Math.floor(percent / 10)}`,
    phase: paint.bold('fetching'),
    facts: [bar(percent, paint), ...facts],
    logged: [...percentOf(percent), ...facts],
  });
}

/** The result of an export for people. */
export function exportResultText(result: ExportResult, paint: Paint): string {
  const { domain, outcome, version, contentDigest, archive, pages, files, url, jobId, polls, jobsStarted, held } =
    result;
  const isReturned = held !== null && result.reasons.length > 0;
  const current = held === version ? 'nothing is current' : `${held} is current again`;
  const failure = isReturned
    ? `a check refused the new version of ${domain}; ${current}`
    : `${domain} is published, but ${failedTargets(result.rollouts).join(', ')} did not get it`;
  const heading = {
    published: `${paint.green('published')} a new version of ${domain}`,
    unchanged: `${paint.green('unchanged')}: ${domain} is the same as published`,
    'rollout-failed': `${paint.red('rollout failed')}: ${failure}`,
    rejected: `${paint.red('rejected')}: the bundle of ${domain} was refused, what is in service stays`,
  }[outcome];
  const facts: (readonly [string, string])[] = [];
  if (version !== null) facts.push(['version', version]);
  if (held !== null) {
    const end = `\`docferry export release ${domain}\``;
    facts.push(['held', `${domain} stays at ${held} until ${isReturned ? `other content comes, or ${end}` : end}`]);
  }
  if (contentDigest !== null) facts.push(['digest', contentDigest]);
  if (archive !== null) facts.push(['archive', `${archive.format}, ${sizeText(archive.bytes)}`]);
  facts.push(['content', `${counted(pages, 'page')}, ${counted(files, 'file')}`]);
  if (url !== null) facts.push(['url', url]);
  const upTo = result.possibleDuplicates > 0 ? 'up to ' : '';
  facts.push(['job', `${jobId ?? 'none'}${jobsStarted > 1 ? ` (${upTo}${jobsStarted} jobs were started)` : ''}`]);
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
  const lines = reasons.map(({ rule, path, detail }) => `  ${rule}${path === null ? '' : `  ${path}`}: ${detail}`);
  return visibleText(lines.join('\n'));
}

/** A hold in words: where, since when, why, and what waits for its end. */
export function holdText({ version, since, reason, waiting, refused }: SiteHold): string {
  const why = reason === null ? '' : `: ${visibleText(reason)}`;
  const next = refused
    ? `\n${refused.version} was refused; other content ends this, or \`docferry export release\``
    : waiting === null
      ? ''
      : `\n${waiting} waits for the release`;
  const where = refused?.version === version ? 'nothing is in service' : `held at ${version}`;
  return `${where} since ${timeText(since)} UTC${why}${next}`;
}

/** The progress of a pass: pages, entries, until when it waits for the budget and behind which others. */
export function syncStep({ phase, progress, waiting, forecast }: SyncState, now: number, paint: Paint): Step {
  const read =
    progress === null ? [] : [counted(progress.pages, 'page'), counted(progress.entries.seen, 'entry', 'entries')];
  const counts = [...read, ...(forecast === null ? [] : [`done ${forecastText(forecast, now)}`])];
  if (waiting === null) {
    // Ten pages to a line of a log.
    const key = `${Math.floor((progress?.pages ?? 0) / 10)}`;
    return stepOf(phase, { key, phase: paint.bold(phase), facts: counts });
  }
  const { until, behind, reason } = waiting;
  const held = { key: `${until}`, phase: paint.yellow(phase) };
  if (reason === 'unauthorized') return stepOf(phase, { ...held, facts: [...read, refusedText(until)] });
  // When a person will resume it is unknown.
  if (reason === 'paused') return stepOf(phase, { ...held, key: reason, facts: [...read, waitText.paused] });
  const after = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
  return stepOf(phase, {
    ...held,
    facts: [...counts, `for another ${spanText(until - now)}${after}`],
    logged: [...counts, `until ${momentText(until, now)}${after}`],
  });
}
