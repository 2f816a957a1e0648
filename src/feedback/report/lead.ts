import { counted, countText } from '../../rules/quantities.ts';
import type { ReportFigures, Votes } from '../rules/report-figures.ts';
import type { TimeAxis } from '../rules/time-axis.ts';
import { type Html, html } from './html.ts';
import { sharesDiffer } from './wilson.ts';
import { dayText, percentText, waitText } from './words.ts';

/** Fewer votes than this say nothing about a trend. */
const fewestVotes = 20;
const longestTrend = 3;

/** The report in a sentence or two. */
export function leadText({ entries, helpful, helpfulOver, axis, open }: ReportFigures): string {
  if (entries === 0) return 'No feedback is stored for this period.';
  const votes = helpful.yes + helpful.no;
  const rate =
    votes === 0
      ? `${counted(entries, 'entry', 'entries')}, but no votes yet.`
      : `${percentText(helpful.yes / votes)} of ${counted(votes, 'vote')} say the page was helpful${axis === null ? '' : trendText(axis, helpfulOver)}.`;
  const waiting =
    open.entries === 0 ? 'No entry is open.' : `${counted(open.entries, 'entry is', 'entries are')} still open.`;
  return `${rate} ${waiting}`;
}

/** How the latest parts of the axis compare with the same number before them. */
function trendText(axis: TimeAxis, votes: readonly Votes[]): string {
  const parts = Math.min(longestTrend, Math.floor(votes.length / 2));
  if (parts === 0) return '';
  const recent = sum(votes.slice(-parts));
  const before = sum(votes.slice(-2 * parts, -parts));
  if (recent.yes + recent.no < fewestVotes || before.yes + before.no < fewestVotes) return '';
  const [now, then] = [share(recent), share(before)];
  const span = parts === 1 ? `last ${axis.unit}` : `last ${parts} ${axis.unit}s`;
  const as = parts === 1 ? 'the one before' : `the ${parts} before`;
  if (!sharesDiffer(recent, before)) return `, with no clear change between the ${span} and ${as}`;
  const points = Math.abs(Math.round(now * 100) - Math.round(then * 100));
  return `; in the ${span} ${percentText(now)}, ${points} points ${now > then ? 'up' : 'down'} on ${as}`;
}

/** The key figures at the top. */
export function keyFigures({ entries, helpful, open, waits, votedPages }: ReportFigures): Html {
  const votes = helpful.yes + helpful.no;
  const facts: [string, string, string][] = [
    ['entries', countText(entries), `${counted(votes, 'vote')} on ${counted(votedPages, 'page')}`],
    [
      'found helpful',
      votes === 0 ? '–' : percentText(helpful.yes / votes),
      votes === 0 ? 'no votes yet' : `${countText(helpful.yes)} of ${countText(votes)}`,
    ],
    ['still open', countText(open.entries), open.oldest === null ? 'none' : `oldest from ${dayText(open.oldest)}`],
    [
      'median time to close',
      waits === null ? '–' : waitText(waits.medianMs),
      waits === null ? 'no entry closed yet' : `90${'\u202F'}% within ${waitText(waits.p90Ms)}`,
    ],
  ];
  const items = facts.map(
    ([name, value, detail]) =>
      html`<div><dt>${name}</dt><dd><strong>${value}</strong> <span>${detail}</span></dd></div>\n`,
  );
  return html`<dl class="key-figures">
${items}</dl>`;
}

function sum(votes: readonly Votes[]): Votes {
  return votes.reduce((all, { yes, no }) => ({ yes: all.yes + yes, no: all.no + no }), { yes: 0, no: 0 });
}

function share({ yes, no }: Votes): number {
  return yes / (yes + no);
}
