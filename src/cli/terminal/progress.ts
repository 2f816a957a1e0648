import { waitText } from '../../budget/rules/window-view.ts';
import {
  changesText,
  type ExportState,
  reasonText,
  type Transfer,
  transferFacts,
  transferPercent,
} from '../../exports/rules/site-export.ts';
import type { SyncState } from '../../feedback/rules/sync.ts';
import { barText, clockTime, counted, forecastText, momentText, spanText } from '../../rules/text.ts';
import type { Paint, Step } from './output.ts';

/** A progress bar with its percentage; an empty bar when the progress is unknown. */
export function bar(percent: number | null, paint: Paint): string {
  if (percent === null) return paint.dim(barText(0));
  const shown = Math.min(100, Math.max(0, percent));
  return `${paint.green(barText(shown))} ${Math.floor(shown)} %`;
}

/** The progress of an export: phase, percent, pages, next poll and why. */
export function exportStep(state: ExportState, now: number, paint: Paint): Step {
  const { phase, progress, nextPoll, unauthorized } = state;
  if (unauthorized) {
    const why = `the API key is refused (401), next try at ${clockTime(unauthorized.nextTryAt)}`;
    const text = `${paint.yellow(phase)}  ${why}`;
    return { key: `unauthorized ${unauthorized.nextTryAt}`, text, line: `${phase}, ${why}` };
  }
  if (state.approval) {
    const { version, expiresAt, asks, changes } = state.approval;
    const until = momentText(expiresAt, now);
    const how = `docferry export approve ${state.domain}, or reject ${state.domain} --reason …`;
    const what = `${version} waits for approval until ${until} (${[...asks.map(reasonText), changesText(changes)].join('; ')}): ${how}`;
    return { key: `${phase} ${version}`, text: `${paint.yellow(phase)}  ${what}`, line: `${phase}, ${what}` };
  }
  if (phase === 'fetching' && state.download !== null) return downloadStep(state.download, paint);
  const version = state.version === null ? [] : [state.version];
  if (phase !== 'rendering' || progress === null)
    return { key: phase, text: [paint.bold(phase), ...version].join('  '), line: [phase, ...version].join(', ') };
  const { percent, pageCount, polls, jobsStarted } = progress;
  const facts = [
    pageCount === null ? '' : counted(pageCount, 'page'),
    jobsStarted > 1 ? `job ${jobsStarted}` : '',
  ].filter((fact) => fact !== '');
  const pollIn = nextPoll === null ? [] : [`next poll in ${spanText(nextPoll.at - now)}`];
  const pollAt = nextPoll === null ? [] : [`next poll ${clockTime(nextPoll.at)} (${nextPoll.reason})`];
  const percentText = percent === null ? [] : [`${Math.floor(percent)} %`];
  return {
    // Ten lines of a log from start to end.
    key: `${phase} ${jobsStarted} ${percent === null ? (polls > 0 ? 'asked' : 'new') : Math.floor(percent / 10)}`,
    text: [paint.bold(phase), bar(percent, paint), ...facts, ...pollIn].join('  '),
    line: [phase, ...percentText, ...facts, ...pollAt].join(', '),
  };
}

/** Ten lines of a log from start to end. */
function downloadStep(download: Transfer, paint: Paint): Step {
  const percent = transferPercent(download);
  const facts = transferFacts(download);
  return {
    key: `fetching ${percent === null ? 'unknown' : Math.floor(percent / 10)}`,
    text: [paint.bold('fetching'), bar(percent, paint), ...facts].join('  '),
    line: ['fetching', ...(percent === null ? [] : [`${Math.floor(percent)} %`]), ...facts].join(', '),
  };
}

/** The progress of a pass: pages, entries, until when it waits for the budget and behind which others. */
export function syncStep({ phase, progress, waiting, forecast }: SyncState, now: number, paint: Paint): Step {
  const read =
    progress === null ? [] : [counted(progress.pages, 'page'), counted(progress.entries.seen, 'entry', 'entries')];
  const counts = [...read, ...(forecast === null ? [] : [`done ${forecastText(forecast, now)}`])];
  if (waiting === null) {
    // Ten pages to a line of a log.
    const key = `${phase} ${Math.floor((progress?.pages ?? 0) / 10)}`;
    return { key, text: [paint.bold(phase), ...counts].join('  '), line: [phase, ...counts].join(', ') };
  }
  const { until, behind, reason } = waiting;
  if (reason === 'unauthorized') {
    const why = `the API key is refused (401), next try at ${clockTime(until)}`;
    const text = [paint.yellow(phase), ...read, why].join('  ');
    return { key: `${phase} ${until}`, text, line: [phase, ...read, why].join(', ') };
  }
  if (reason === 'paused') {
    // When a person will resume it is unknown.
    const facts = [...read, waitText.paused];
    const text = [paint.yellow(phase), ...facts].join('  ');
    return { key: `${phase} ${reason}`, text, line: [phase, ...facts].join(', ') };
  }
  const after = behind.length === 0 ? '' : `, behind ${behind.join(', ')}`;
  return {
    key: `${phase} ${until}`,
    text: [paint.yellow(phase), ...counts, `for another ${spanText(until - now)}${after}`].join('  '),
    line: [phase, ...counts, `until ${momentText(until, now)}${after}`].join(', '),
  };
}
