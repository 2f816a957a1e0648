import { clockTime, momentText, spanText } from '../../rules/details-text.ts';
import { changesText } from '../../exports/rules/content-changes.ts';
import type { ExportState } from '../../exports/rules/site-export.ts';
import { type Transfer, transferFacts, transferPercent } from '../../exports/rules/transfer.ts';
import { counted } from '../../rules/quantities.ts';
import { bar } from './bar.ts';
import type { Step } from './live-lines.ts';
import type { Paint } from './output.ts';

/** The progress of an export: phase, percent, pages, next poll and why. */
export function exportStep(state: ExportState, now: number, paint: Paint): Step {
  const { phase, progress, nextPoll, unauthorized } = state;
  if (unauthorized) {
    const why = `the API key is refused (401), next try at ${clockTime(unauthorized.nextTryAt)}`;
    const text = `${paint.yellow(phase)}  ${why}`;
    return { key: `unauthorized ${unauthorized.nextTryAt}`, text, line: `${phase}, ${why}` };
  }
  if (state.approval) {
    const { version, expiresAt, changes } = state.approval;
    const until = momentText(expiresAt, now);
    const how = `docferry export approve ${state.domain}, or reject ${state.domain} --reason …`;
    const what = `${version} waits for approval until ${until} (${changesText(changes)}): ${how}`;
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
