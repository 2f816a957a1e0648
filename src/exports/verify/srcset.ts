import { withoutEnd } from '../../rules/short-texts.ts';

const spaces = /[\s,]*/y;
const wordPattern = /\S*/y;

/** The addresses of a `srcset` (HTML, "srcset attributes"): each up to white space, descriptors up to a comma. */
export function srcsetUrls(value: string): string[] {
  const urls: string[] = [];
  for (let at = ends(spaces, value, 0); at < value.length; at = ends(spaces, value, at)) {
    const end = ends(wordPattern, value, at);
    const word = value.slice(at, end);
    const url = withoutEnd(word, ',');
    urls.push(url);
    at = url === word ? endOfDescriptors(value, end) : end;
  }
  return urls;
}

/** The offset of the next comma outside brackets. */
function endOfDescriptors(value: string, from: number): number {
  let isWithin = false;
  for (let at = from; at < value.length; at += 1) {
    const char = value[at];
    if (char === ',' && !isWithin) return at;
    if (char === '(') isWithin = true;
    else if (char === ')') isWithin = false;
  }
  return value.length;
}

function ends(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  pattern.exec(text);
  return pattern.lastIndex;
}
