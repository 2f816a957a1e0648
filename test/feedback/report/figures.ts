import type { ReportBounds, ReportProject } from '../../../src/feedback/report/report-page.ts';
import { reportPage } from '../../../src/feedback/report/report-page.ts';
import type { ReportFigures } from '../../../src/feedback/rules/report-figures.ts';
import { timeAxis } from '../../../src/feedback/rules/report-figures.ts';

export const now = new Date('2026-11-21T08:00:00Z');

export const nothing: ReportFigures = {
  entries: 0,
  undated: 0,
  undatedLeftOut: 0,
  axis: null,
  outsideAxis: 0,
  sources: [],
  statuses: [],
  open: { entries: 0, oldest: null },
  helpful: { yes: 0, no: 0 },
  helpfulOver: [],
  votedPages: 0,
  mostVoted: [],
  worst: [],
  waits: null,
  waitsOver: [],
  agents: { entries: 0, paths: 0, pages: [] },
  commented: 0,
  recent: [],
};

/** Figures of three days in which everything occurs. */
export function someFigures(over: Partial<ReportFigures> = {}): ReportFigures {
  const hour = 3_600_000;
  return {
    entries: 9,
    undated: 0,
    undatedLeftOut: 0,
    axis: timeAxis({ oldest: '2026-11-19T10:00:00.000Z', now }),
    outsideAxis: 0,
    sources: [
      { name: 'contextual', entries: 6, over: [3, 2, 1] },
      { name: 'agent', entries: 3, over: [1, 1, 1] },
    ],
    statuses: [
      { name: 'pending', entries: 5, over: [1, 2, 2] },
      { name: 'resolved', entries: 4, over: [3, 1, 0] },
    ],
    open: { entries: 5, oldest: '2026-11-19T10:00:00.000Z' },
    helpful: { yes: 4, no: 2 },
    helpfulOver: [
      { yes: 2, no: 1 },
      { yes: 1, no: 1 },
      { yes: 1, no: 0 },
    ],
    votedPages: 2,
    mostVoted: [
      { path: '/a', yes: 3, no: 1 },
      { path: '/b', yes: 1, no: 1 },
    ],
    worst: [{ path: '/b', yes: 1, no: 1 }],
    waits: { closed: 4, medianMs: 5 * hour, p90Ms: 30 * hour },
    waitsOver: [null, { closed: 4, medianMs: 5 * hour, p90Ms: 30 * hour }, null],
    agents: {
      entries: 3,
      paths: 1,
      pages: [{ path: '/a', entries: 3, open: 1, complaints: [{ text: 'No such flag.', cut: 0, times: 3 }] }],
    },
    commented: 2,
    recent: [
      {
        text: 'First words',
        cut: 0,
        path: '/a',
        source: 'contextual',
        status: 'pending',
        helpful: false,
        createdAt: '2026-11-20T10:00:00.000Z',
      },
      { text: 'More words', cut: 12, path: '/b', source: 'agent', status: 'resolved', helpful: null, createdAt: null },
    ],
    ...over,
  };
}

export function projectWith(figures: ReportFigures, project = 'prj_1'): ReportProject {
  return { org: 'acme', project, readUpTo: '2026-11-20T10:00:00.000Z', figures };
}

export async function pageOf(projects: readonly ReportProject[], bounds: ReportBounds = {}): Promise<string> {
  const each = async function* (): AsyncGenerator<ReportProject> {
    yield* projects;
  };
  let text = '';
  for await (const piece of reportPage({ madeAt: now, bounds, names: projects }, each())) text += piece;
  return text;
}
