import { factsTable } from './details-text.ts';

/** What a version changes in a site, for somebody who has to approve it. */
export interface ContentChanges {
  /** The version it is compared with; null when nothing is in service yet. */
  against: string | null;
  pages: ChangeCounts;
  /** Everything that is no page. */
  others: ChangeCounts;
  /** Paths of pages, a few of each kind; empty where they would be too long for a history. */
  listed: { added: string[]; removed: string[]; changed: string[] };
}

export interface ChangeCounts {
  added: number;
  removed: number;
  changed: number;
}

/** `3 pages added, 1 removed, 12 changed; 4 other files`. */
export function changesText({ pages, others, against }: ContentChanges): string {
  if (against === null) return `${counted(pages.added, 'page')}, the first version`;
  const words = [
    pages.added > 0 ? `${pages.added} added` : '',
    pages.removed > 0 ? `${pages.removed} removed` : '',
    pages.changed > 0 ? `${pages.changed} changed` : '',
  ].filter((word) => word !== '');
  const rest = others.added + others.removed + others.changed;
  const ofPages = words.length === 0 ? 'no page differs' : `pages: ${words.join(', ')}`;
  return rest === 0 ? ofPages : `${ofPages}; ${counted(rest, 'other file')}`;
}

/** The changes as Markdown: a table of counts and lists of paths, which cannot break out of their code spans. */
export function changesMarkdown(changes: ContentChanges): string {
  const { pages, others, listed, against } = changes;
  const row = ({ added, removed, changed }: ChangeCounts) => `${added} added, ${removed} removed, ${changed} changed`;
  const facts: [string, string][] = [
    ['compared with', against ?? 'nothing: it is the first version'],
    ['pages', row(pages)],
    ['other files', row(others)],
  ];
  const lists = (['added', 'removed', 'changed'] as const).flatMap((kind) => {
    const paths = listed[kind];
    if (paths.length === 0) return [];
    const more = pages[kind] - paths.length;
    const lines = paths.map((path) => `- \`${path.replaceAll('`', "'")}\``);
    return [`Pages ${kind}:\n\n${lines.join('\n')}${more > 0 ? `\n- and ${more} more` : ''}`];
  });
  return [factsTable(facts), ...lists].join('\n\n');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
