import type { EntrySelection } from '../../feedback/search/feedback-search.ts';
import { openStatuses } from '../../feedback/rules/feedback-values.ts';
import { badValue, type FeedbackQuery, utcOf } from './feedback-query.ts';

/** What an address asks for, as the search takes it. */
export function selectionOf(query: FeedbackQuery): EntrySelection {
  const { words, org, project, source, status, document, from, to, since } = query;
  const helpful = helpfulOf(query.helpful);
  const fromUtc = utcOf(from);
  const toUtc = utcOf(to);
  const sinceUtc = utcOf(since);
  return {
    ...(words !== '' && { words }),
    ...(org !== '' && { org }),
    ...(project !== '' && { projects: [project] }),
    ...(source !== '' && { sources: [source] }),
    ...(status !== '' && { statuses: status === 'open' ? openStatuses : [status] }),
    ...(helpful !== null && { helpful }),
    ...(document !== '' && { document }),
    ...(fromUtc !== undefined && { since: fromUtc }),
    ...(toUtc !== undefined && { until: toUtc }),
    ...(sinceUtc !== undefined && { firstSeenAfter: sinceUtc }),
  };
}

/** Refuses an organization or project that is not in the configuration. */
export function checkConfigured(
  { org, project }: FeedbackQuery,
  organizations: readonly { id: string; projects: readonly { id: string }[] }[],
): void {
  const of = organizations.filter(({ id }) => org === '' || id === org);
  if (of.length === 0) badValue('org', org, 'is not the id of an organization in the configuration');
  if (project !== '' && !of.some(({ projects }) => projects.some(({ id }) => id === project))) {
    badValue('project', project, `is not the id of a project${org === '' ? '' : ` of ${org}`} in the configuration`);
  }
}

function helpfulOf(text: string): 'yes' | 'no' | 'none' | null {
  return text === 'yes' || text === 'no' || text === 'none' ? text : null;
}
