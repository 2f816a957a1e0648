import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { counted, countText, naturalOrder } from '../../rules/text.ts';
import type { ReportFigures, TimeAxis, Votes } from '../rules/report-figures.ts';
import {
  dark,
  dayText,
  figureStyle,
  type Html,
  htmlText,
  light,
  momentText,
  percentText,
  sharesDiffer,
  variables,
  visible,
  waitText,
  wilsonInterval,
} from './figure.ts';
import {
  agentsSection,
  commentsSection,
  helpfulSections,
  section,
  sharesFigure,
  total,
  volumeSection,
  waitsSection,
} from './sections.ts';

/** The page's only script filters the comments; without it the forms stay hidden and every list is complete. */
const filterScript = `'use strict';
for (const form of document.querySelectorAll('form.filters')) {
  const items = [...document.getElementById(form.dataset.list).children].map((item) => ({
    item,
    source: item.dataset.source,
    status: item.dataset.status,
    page: item.dataset.page.toLowerCase(),
    text: item.querySelector('blockquote').textContent.toLowerCase(),
  }));
  const shown = form.querySelector('.shown');
  const whole = shown.textContent;
  const apply = () => {
    const { source, status, page, text } = form.elements;
    let count = 0;
    for (const entry of items) {
      const fits =
        (source.value === '' || source.value === entry.source) &&
        (status.value === '' || status.value === entry.status) &&
        entry.page.includes(page.value.trim().toLowerCase()) &&
        entry.text.includes(text.value.trim().toLowerCase());
      entry.item.hidden = !fits;
      if (fits) count += 1;
    }
    shown.textContent = count === items.length ? whole : count + ' of ' + whole;
  };
  form.addEventListener('input', apply);
  form.addEventListener('reset', () => setTimeout(apply));
  form.addEventListener('submit', (event) => event.preventDefault());
  form.hidden = false;
  apply();
}
`;

/** Fewer votes than this say nothing about a trend. */
const fewestVotes = 20;
const longestTrend = 3;

/** The report in a sentence or two. */
function leadText({ entries, helpful, helpfulOver, axis, open, waits }: ReportFigures): string {
  if (entries === 0) {
    return waits === null
      ? 'No feedback is stored for this period.'
      : `No feedback was left in this period; ${counted(waits.closed, 'entry was', 'entries were')} closed.`;
  }
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

function keyFigures({ entries, helpful, open, waits, votedPages }: ReportFigures): Html {
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
      waits === null ? 'none seen to close yet' : `90${'\u202F'}% within ${waitText(waits.p90Ms)}`,
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

export interface ReportProject {
  org: string;
  project: string;
  /** For people. */
  name?: string;
  /** Entries written up to this moment are read (`watermark`), UTC ISO 8601; null before the first complete pass. */
  readUpTo: string | null;
  figures: ReportFigures;
}

export interface ReportBounds {
  /** UTC ISO 8601; `to` is exclusive. */
  from?: string;
  to?: string;
}

/** A project's report: a summary sentence, the key figures, a section for each question, the comments. */
function projectPart({ org, project, name, readUpTo, figures }: ReportProject, bounds: ReportBounds, id: string): Html {
  return html`<article class="project" id="${id}" aria-labelledby="${id}-title">
<header class="masthead">
<p class="kicker"><bdi>${visible(org)}</bdi>${name !== undefined && html` · <bdi>${visible(project)}</bdi>`}</p>
<h2 id="${id}-title"><bdi>${visible(name ?? project)}</bdi></h2>
<p class="lead">${leadText(figures)}</p>
<p class="fine">${periodText(figures, bounds)} ${readText(readUpTo)}</p>
</header>
${figureParts(figures, id)}
${figures.entries > 0 && commentsSection(figures, id)}</article>
`;
}

/** The summary, the key figures, and a section with charts for each question: all but what people wrote. */
export async function chartsOf(figures: ReportFigures, id: string): Promise<string> {
  return await htmlText(html`<p class="lead">${leadText(figures)}</p>
${figureParts(figures, id)}`);
}

function figureParts(figures: ReportFigures, id: string): (Html | null)[] {
  if (figures.entries === 0 && figures.waits === null) return [];
  return [
    keyFigures(figures),
    ...helpfulSections(figures, id),
    volumeSection(figures, id),
    waitsSection(figures, id),
    agentsSection(figures, id),
  ];
}

function periodText({ axis, undatedLeftOut }: ReportFigures, { from, to }: ReportBounds): string {
  const leftOut =
    undatedLeftOut === 0 ? '' : ` ${counted(undatedLeftOut, 'entry', 'entries')} without a date are left out.`;
  if (from !== undefined && to !== undefined) return `Created from ${momentText(from)} to ${momentText(to)}.${leftOut}`;
  if (from !== undefined) return `Created since ${momentText(from)}.${leftOut}`;
  if (to !== undefined) return `Created before ${momentText(to)}.${leftOut}`;
  return axis === null
    ? 'All stored feedback.'
    : `All stored feedback; charts since ${dayText(axis.starts[0] ?? axis.end)}.`;
}

function readText(readUpTo: string | null): string {
  return readUpTo === null ? 'No pass has completed yet.' : `Entries written up to ${momentText(readUpTo)} are read.`;
}

const sans = '"Avenir Next",Avenir,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",system-ui,sans-serif';
const serif = '"Iowan Old Style",Charter,"Source Serif 4","Palatino Linotype",Georgia,"Liberation Serif",serif';

/** The page's style: a column for text, a wide one for figures; one column on a phone; black on white in print. */
const styleSheet = `
:root{color-scheme:light dark;${variables(light)};--sans:${sans};--serif:${serif}}
@media (prefers-color-scheme:dark){:root{${variables(dark)}}}
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 var(--sans);overflow-wrap:anywhere}
h1,h2,h3,h4,p,ul,ol,dl,dd,figure,blockquote{margin:0;padding:0}
ul,ol{list-style:none}
a{color:inherit;text-decoration-color:var(--focus);text-underline-offset:.2em}
a:hover{color:var(--focus)}
:focus-visible{outline:3px solid var(--focus);outline-offset:3px;border-radius:2px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.page{max-width:73rem;margin:0 auto;padding:0 1.25rem}
.top,.bottom{display:flex;justify-content:space-between;gap:.125rem 1rem;flex-wrap:wrap;color:var(--quiet);font-size:.875rem}
.top{padding:1rem 0;border-bottom:1px solid var(--rule)}
.top h1{font:600 .875rem/1.55 var(--sans);color:var(--ink);letter-spacing:.01em}
.bottom{padding:1.5rem 0 3rem;border-top:1px solid var(--rule)}
.bottom p{max-width:44rem}
.contents{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;padding:.875rem 0;border-bottom:1px solid var(--rule);font-size:.9375rem;color:var(--quiet)}
.contents a{color:var(--ink);font-weight:600}
.project+.project{border-top:3px solid var(--ink)}
.masthead{padding:3rem 0 2.25rem}
.kicker{color:var(--quiet);font-size:.9375rem}
.masthead h2{font:500 clamp(2.25rem,1.6rem + 3.2vw,3.75rem)/1.08 var(--serif);letter-spacing:-.015em;margin:.125rem 0 1.25rem}
.fine{color:var(--quiet);font-size:.875rem;margin-top:1rem}
.scroll{overflow-x:auto;margin-top:.5rem;max-height:30rem;overflow-y:auto;overflow-wrap:normal}
.ranking{overflow-x:auto;overflow-wrap:normal;font-size:.875rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.375rem 1rem .375rem 0;text-align:right;border-bottom:1px solid var(--rule);vertical-align:baseline;white-space:nowrap}
th:first-child{text-align:left;font-weight:400;white-space:normal;min-width:8rem;overflow-wrap:anywhere}
thead th{color:var(--quiet);font-weight:400}
.quotes{display:grid;gap:1.75rem 2.5rem}
.quotes h4{font:600 .875rem/1.4 var(--sans);margin-bottom:.375rem}
.quotes blockquote,.comments blockquote{unicode-bidi:isolate;white-space:pre-line;max-width:40rem}
.quotes blockquote{font:400 1.0625rem/1.5 var(--serif)}
.quotes blockquote:not(:first-of-type){margin-top:.5rem;padding-top:.5rem;border-top:1px solid var(--rule)}
.times{color:var(--quiet);font-size:.875rem}
.cut{color:var(--quiet);font-style:normal;font-family:var(--sans);font-size:.875rem}
.filters{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:.75rem 1rem;align-items:end;padding:1rem;margin-top:1.5rem;background:var(--wash);border-radius:4px;font-size:.875rem}
.filters[hidden]{display:none}
.filters label{display:block;margin-bottom:.25rem}
.filters input,.filters select,.filters button{font:inherit;font-size:1rem;color:var(--ink);background:var(--paper);border:1px solid var(--stone);border-radius:4px;padding:.4375rem .625rem;width:100%;min-height:2.75rem}
.filters button{cursor:pointer;width:auto;padding-inline:1.125rem}
.filters button:hover{border-color:var(--ink)}
.shown{align-self:center;color:var(--quiet);text-align:right}
.comments{margin-top:.5rem}
.comments li{padding:1.125rem 0;border-bottom:1px solid var(--rule)}
.comments li[hidden]{display:none}
.of{font-size:.875rem;margin-bottom:.375rem}
.of .path{font-weight:600;display:block}
.of .facts{color:var(--quiet)}
.vote{white-space:nowrap}
.vote::before{content:"· ";color:var(--quiet)}
.vote.yes{color:var(--good)}
.vote.no{color:var(--bad)}
.comments blockquote{font:400 1.125rem/1.5 var(--serif)}
${figureStyle}
@media (min-width:35rem){
.quotes{grid-template-columns:repeat(2,minmax(0,1fr))}
}
@media (min-width:48rem){
.page{padding:0 2.5rem}
.filters{grid-template-columns:repeat(4,minmax(0,1fr))}
.filters .end{grid-column:1/4}
.comments li{display:grid;grid-template-columns:16rem minmax(0,1fr);gap:2.5rem}
.of .facts{display:block;margin-top:.25rem}
}
@media print{
:root{${variables(light)};--paper:#fff;--wash:#fff}
body{font-size:10pt}
.page{max-width:none;padding:0}
.masthead{padding:1.5rem 0}
.part{display:block;padding:1.5rem 0}
.part>header{position:static;break-after:avoid}
.figures{margin-top:1rem;gap:1.5rem}
figure,.comments li,.quotes li,.key-figures{break-inside:avoid}
figure>svg.wide{display:block}
figure>svg.narrow{display:none}
.filters,.numbers:not([open]){display:none}
.scroll{max-height:none;overflow:visible}
}
`;

export interface Report {
  madeAt: Date;
  bounds: ReportBounds;
  /** The projects that follow, in their order. */
  names: readonly { org: string; project: string; name?: string }[];
  /** Address of the page about all projects, if there is one. */
  overview?: string;
}

/** The report as one self-contained page, in pieces. Its policy lets a browser load nothing and run only its script. */
export async function* reportPage(report: Report, projects: AsyncIterable<ReportProject>): AsyncGenerator<string> {
  yield await htmlText(head(report));
  let number = 0;
  for await (const project of projects) {
    number += 1;
    yield await htmlText(projectPart(project, report.bounds, `p${number}`));
  }
  yield await htmlText(pageFoot());
}

function head({ madeAt, names, overview }: Report): Html {
  const [first] = names;
  const title =
    names.length === 1 && first !== undefined ? `Feedback on ${visible(first.name ?? first.project)}` : 'Feedback';
  const back =
    overview !== undefined &&
    html`<nav aria-label="Overview"><ul class="contents"><li><a href="${overview}">All projects</a></li></ul></nav>`;
  return pageHead({ title, madeAt, aside: html`${names.length > 1 && contents(names)}${back}` });
}

/** The beginning of a page, up to its content; `aside` comes before that. */
function pageHead({ title, madeAt, aside }: { title: string; madeAt: Date; aside?: Html }): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy()}">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex, nofollow">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="docferry">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${raw(styleSheet)}</style>
</head>
<body>
<div class="page">
<header class="top"><h1>Feedback report</h1><p>${momentText(madeAt.toISOString())}</p></header>
${aside}
<main>
`;
}

function contents(names: Report['names']): Html {
  const links = names.map(
    ({ org, project, name }, index) =>
      html`<li><a href="#p${index + 1}"><bdi>${visible(name ?? project)}</bdi></a> <bdi>${visible(org)}</bdi></li>`,
  );
  return html`<nav aria-label="Projects"><ul class="contents">${links}</ul></nav>`;
}

function pageFoot(): Html {
  return html`</main>
<footer class="bottom"><p>Made by docferry from your feedback store. Times are UTC. Entries that the service no longer has are left out, as are contacts and code. This file loads nothing and sends nothing.</p></footer>
</div>
<script>${raw(filterScript)}</script>
</body>
</html>
`;
}

/** Allows only the style and the script inside the page, by their digests, and its empty icon. */
function policy(): string {
  return [
    "default-src 'none'",
    `style-src '${digest(styleSheet)}'`,
    `script-src '${digest(filterScript)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** A project of the overview. */
export interface RankedProject {
  org: string;
  project: string;
  /** For people. */
  name?: string;
  /** Address of its own page, relative to the overview. */
  page: string;
  readUpTo: string | null;
  figures: Pick<ReportFigures, 'entries' | 'helpful' | 'open' | 'waits'>;
}

/** More rows would make the chart longer than a screen; the table has all. */
const chartedProjects = 25;

/**
 * Projects in the order in which they need attention: first those that most surely help least, then those without
 * votes. Few votes say little, so the lower end of the 95 % interval of the share of negative votes decides.
 */
export function ranked<Project extends RankedProject>(projects: readonly Project[]): Project[] {
  return [...projects].sort(
    (a, b) =>
      worth(b.figures.helpful) - worth(a.figures.helpful) ||
      naturalOrder(a.org, b.org) ||
      naturalOrder(a.project, b.project),
  );
}

function worth({ yes, no }: Votes): number {
  return yes + no === 0 ? -1 : wilsonInterval(no, yes + no).low;
}

/** All projects on one page, each with a link to its own. */
export async function overviewPage(madeAt: Date, projects: readonly RankedProject[]): Promise<string> {
  const inOrder = ranked(projects);
  const title = 'Feedback on all projects';
  return await htmlText(html`${pageHead({ title, madeAt })}${overview(inOrder)}${pageFoot()}`);
}

function overview(projects: readonly RankedProject[]): Html {
  const entries = projects.reduce((sum, { figures }) => sum + figures.entries, 0);
  const open = projects.reduce((sum, { figures }) => sum + figures.open.entries, 0);
  const intro =
    'The projects whose readers were most surely not helped come first. The band is the 95\u202F% confidence interval: the fewer votes, the wider.';
  const body = [chart(projects), table(projects)];
  return html`<article class="project" aria-labelledby="all-title">
<header class="masthead">
<h2 id="all-title">${counted(projects.length, 'project')}</h2>
<p class="lead">${counted(entries, 'entry', 'entries')}, ${countText(open)} of them still open.</p>
</header>
${section({ id: 'ranking', title: 'Where readers are helped least', intro, body })}</article>
`;
}

function chart(projects: readonly RankedProject[]): Html | null {
  const voted = projects.filter(({ figures }) => total(figures.helpful) > 0).slice(0, chartedProjects);
  if (voted.length === 0) return null;
  const title = 'Share of helpful votes by project';
  return sharesFigure({
    id: 'ranking-chart',
    title: voted.length < chartedProjects ? title : `${title}, the first ${chartedProjects}`,
    label: `Share of helpful votes on ${counted(voted.length, 'project')}`,
    column: 'project',
    rows: voted.map(({ figures: { helpful }, name, project }) => ({ ...helpful, name: name ?? project })),
  });
}

function table(projects: readonly RankedProject[]): Html {
  const columns = [
    'project',
    'organization',
    'helpful',
    'votes',
    'entries',
    'open',
    'median time to close',
    'read up to',
  ];
  const head = columns.map((column) => html`<th scope="col">${column}</th>`);
  const body = projects.map(({ org, project, name, page, readUpTo, figures: { entries, helpful, open, waits } }) => {
    const votes = total(helpful);
    const cells = [
      html`<bdi>${visible(org)}</bdi>`,
      votes === 0 ? '–' : percentText(helpful.yes / votes),
      countText(votes),
      countText(entries),
      countText(open.entries),
      waits === null ? '–' : waitText(waits.medianMs),
      readUpTo === null ? 'never' : dayText(readUpTo),
    ].map((cell) => html`<td>${cell}</td>`);
    const id = name === undefined ? null : html` <span class="fine">${visible(project)}</span>`;
    return html`<tr><th scope="row"><a href="${page}"><bdi>${visible(name ?? project)}</bdi></a>${id}</th>${cells}</tr>
`;
  });
  return html`<div class="ranking" role="region" tabindex="0" aria-label="All projects">
<table><thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody></table>
</div>`;
}
