import type { ContentFile } from './content-digest.ts';
import type { ReasonList } from './reason-list.ts';

const INDEX_PAGE = 'index.html';

/** Pages are the `.html` files of a site (INTERFACE, appendix: "the archive"). */
export function isPage(path: string): boolean {
  return /\.html?$/i.test(path);
}

/**
 * What a site must hold (DESIGN §6): a page at all, and `index.html` at the root. An archive whose files all lie below
 * one folder is refused too: unpacked, it would answer nothing at `/`, and dropping the folder would be a guess.
 */
export function checkSite(files: readonly ContentFile[], reasons: ReasonList): void {
  if (!files.some(({ path }) => isPage(path))) reasons.add('no-page', null, 'the archive holds no HTML page');
  if (files.some(({ path }) => path === INDEX_PAGE)) return;
  const folder = commonFolder(files);
  const advice = folder === null ? '' : `; every file lies below the folder "${folder}": pack what is in it`;
  reasons.add('no-index-page', null, `there is no ${INDEX_PAGE} at the root of the archive${advice}`);
}

function commonFolder(files: readonly ContentFile[]): string | null {
  const [first] = files;
  const end = first ? first.path.indexOf('/') : -1;
  if (!first || end < 0) return null;
  const folder = first.path.slice(0, end);
  return files.every(({ path }) => path.startsWith(`${folder}/`)) ? folder : null;
}
