import { factsTable } from '../../rules/details-text.ts';
import { counted } from '../../rules/quantities.ts';

/** What a version changes in a site, for the person who approves it. */
export interface ContentChanges {
  /** The version it is compared with; null for the first version. */
  against: string | null;
  pages: ChangeCounts;
  /** All files that are not pages. */
  others: ChangeCounts;
  /** Paths of pages, a few of each kind; empty if too long for a history. */
  listed: Record<keyof ChangeCounts, string[]>;
}

export interface ChangeCounts {
  added: number;
  removed: number;
  changed: number;
  /** The same content under another path. */
  moved: number;
}

const kinds = ['added', 'removed', 'changed', 'moved'] as const satisfies (keyof ChangeCounts)[];

/** `pages: 3 added, 1 removed, 12 changed; 4 other files`. */
export function changesText({ pages, others, against }: ContentChanges): string {
  if (against === null) return `${counted(pages.added, 'page')}, the first version`;
  const words = kinds.filter((kind) => pages[kind] > 0).map((kind) => `${pages[kind]} ${kind}`);
  const rest = kinds.reduce((sum, kind) => sum + others[kind], 0);
  const ofPages = words.length === 0 ? 'no page differs' : `pages: ${words.join(', ')}`;
  return rest === 0 ? ofPages : `${ofPages}; ${counted(rest, 'other file')}`;
}

/** The changes as Markdown: a table of counts, and lists of paths that cannot break out of their code spans. */
export function changesMarkdown(changes: ContentChanges): string {
  const { pages, others, listed, against } = changes;
  const row = (counts: ChangeCounts) => kinds.map((kind) => `${counts[kind]} ${kind}`).join(', ');
  const facts: [string, string][] = [
    ['compared with', against ?? 'nothing (first version)'],
    ['pages', row(pages)],
    ['other files', row(others)],
  ];
  const lists = kinds.flatMap((kind) => {
    const paths = listed[kind];
    if (paths.length === 0) return [];
    const more = pages[kind] - paths.length;
    const lines = paths.map((path) => `- \`${path.replaceAll('`', "'")}\``);
    return [`Pages ${kind}:\n\n${lines.join('\n')}${more > 0 ? `\n- and ${more} more` : ''}`];
  });
  return [factsTable(facts), ...lists].join('\n\n');
}
