import { createHash } from 'node:crypto';
import { documentKey } from '../rules/document-key.ts';
import type { FeedbackTable } from '../store/tables.ts';
import type { EntrySelection } from './feedback-search.ts';

/*
 * What a search can be narrowed down to stands in the index beside the words, so that the database finds what meets all
 * of it without looking at rows. A facet begins with `=`, which no word does; values are hashed, because they may be any
 * text.
 */

const kinds = { org: 'o', project: 'p', source: 's', status: 't', document: 'd', helpful: 'h' } as const;

function facet(kind: keyof typeof kinds, value: string): string {
  return `=${kinds[kind]}${createHash('sha256').update(value).digest('hex').slice(0, 16)}`;
}

/** What no entry has. */
const noFacet = '=';

export function facetsOf({ org_id, project_id, source, status, path, helpful }: FeedbackTable): string[] {
  return [
    facet('org', org_id),
    facet('project', project_id),
    facet('source', source),
    facet('status', status),
    facet('document', documentKey(path)),
    facet('helpful', helpful === null ? 'none' : helpful === 1 ? 'yes' : 'no'),
  ];
}

/** Of each list an entry must have one. */
export function facetsAsked(selection: EntrySelection): string[][] {
  const { org, projects, sources, statuses, helpful, document } = selection;
  const one = (value: string | undefined): string[] | undefined => (value === undefined ? undefined : [value]);
  const asked = {
    org: one(org),
    project: projects,
    source: sources,
    status: statuses,
    document: one(document === undefined ? undefined : documentKey(document)),
    helpful: one(helpful),
  };
  return (Object.keys(asked) as (keyof typeof asked)[]).flatMap((kind) => {
    const values = asked[kind];
    if (values === undefined) return [];
    return [values.length === 0 ? [noFacet] : [...new Set(values)].map((value) => facet(kind, value))];
  });
}
