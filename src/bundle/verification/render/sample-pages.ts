import { createHash } from 'node:crypto';
import { isPage } from '../site/site-pages.ts';

/**
 * The pages to look at: the index page, and others as the content digest has it, so that the same archive is always
 * looked at in the same places and nobody can know them before.
 */
export function samplePages(paths: readonly string[], contentDigest: string, count: number): string[] {
  const ranked = paths
    .filter((path) => isPage(path) && path !== 'index.html')
    .map((path) => ({ path, rank: createHash('sha256').update(`${contentDigest}\0${path}`).digest('hex') }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const index = paths.includes('index.html') ? ['index.html'] : [];
  return [...index, ...ranked.map(({ path }) => path)].slice(0, count);
}
