import { html } from 'hono/html';
import { counted, countText, naturalOrder } from '../../rules/text.ts';
import type { ReportFigures, Votes } from '../rules/report-figures.ts';
import { type Html, htmlText, visible } from './figure.ts';
import { pageFoot, pageHead } from './report-page.ts';
import { dayText, percentText, waitText, wilsonInterval } from './report-words.ts';
import { section, sharesFigure, total } from './sections.ts';

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
