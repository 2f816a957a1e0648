/**
 * The key that all feedback paths of one document share: `path` is a path or a whole address, with or without query,
 * fragment and a slash at the end (service-interface.md). E.g. `/a/b` of `https://docs.example/a/b/?x#y`.
 */
export function documentKey(path: string): string {
  const place = path.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '');
  const more = place.search(/[?#]/);
  let end = more === -1 ? place.length : more;
  while (place.endsWith('/', end) && end > 0) end -= 1;
  return end === 0 && path !== '' ? '/' : place.slice(0, end);
}
