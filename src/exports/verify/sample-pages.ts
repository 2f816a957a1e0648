import { createHash } from 'node:crypto';
import { isPage } from './site-pages.ts';

/**
 * The pages to open: the index page, and others chosen by the content digest, so that the same archive always gets the
 * same sample, which its author cannot predict.
 */
export function samplePages(paths: readonly string[], contentDigest: string, count: number): string[] {
  const ranked = paths
    .filter((path) => isPage(path) && path !== 'index.html')
    .map((path) => ({ path, rank: createHash('sha256').update(`${contentDigest}\0${path}`).digest('hex') }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const index = paths.includes('index.html') ? ['index.html'] : [];
  return [...index, ...ranked.map(({ path }) => path)].slice(0, count);
}
