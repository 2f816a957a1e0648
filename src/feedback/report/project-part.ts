import { counted } from '../../rules/quantities.ts';
import type { ReportFigures } from '../rules/report-figures.ts';
import { type Html, html, visible } from './html.ts';
import { keyFigures, leadText } from './lead.ts';
import { agentsSection } from './agents.ts';
import { commentsSection } from './comments.ts';
import { helpfulSections } from './helpful.ts';
import { volumeSection } from './volume.ts';
import { waitsSection } from './waits.ts';
import { dayText, momentText } from './words.ts';

export interface ReportProject {
  org: string;
  project: string;
  /** For people. */
  name?: string;
  /** Up to when the service's feedback has been read, UTC ISO 8601; null before the first complete pass. */
  readUpTo: string | null;
  figures: ReportFigures;
}

export interface ReportBounds {
  /** UTC ISO 8601; `to` is exclusive. */
  from?: string;
  to?: string;
}

/** A project's report: a summary sentence, the key figures, a section for each question, the comments. */
export function projectPart(
  { org, project, name, readUpTo, figures }: ReportProject,
  bounds: ReportBounds,
  id: string,
): Html {
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
export function chartsOf(figures: ReportFigures, id: string): Html {
  return html`<p class="lead">${leadText(figures)}</p>
${figureParts(figures, id)}`;
}

function figureParts(figures: ReportFigures, id: string): (Html | null)[] {
  if (figures.entries === 0) return [];
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
  return readUpTo === null ? 'No pass has completed yet.' : `Complete as of ${momentText(readUpTo)}.`;
}
