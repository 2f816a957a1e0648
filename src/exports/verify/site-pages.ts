const indexPage = 'index.html';

/** Pages are the `.html` files of a site (service-interface.md, appendix: "the archive"). */
export function isPage(path: string): boolean {
  return /\.html?$/i.test(path);
}

/**
 * Why the site has no index page at its root; null when it has one. An archive whose files are all below one folder has
 * none either: unpacked, it would serve nothing at `/`, and dropping the folder would be a guess.
 */
export function missingIndexPage(paths: readonly string[]): string | null {
  if (paths.includes(indexPage)) return null;
  const folder = commonFolder(paths);
  const advice = folder === null ? '' : `; every file lies below the folder "${folder}": pack what is in it`;
  return `there is no ${indexPage} at the root of the archive${advice}`;
}

function commonFolder(paths: readonly string[]): string | null {
  const [first = ''] = paths;
  const end = first.indexOf('/');
  if (end < 0) return null;
  const prefix = first.slice(0, end + 1);
  return paths.every((path) => path.startsWith(prefix)) ? first.slice(0, end) : null;
}
