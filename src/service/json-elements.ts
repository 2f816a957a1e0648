/**
 * The source texts of the elements of a top-level member that holds an array, e.g. of `feedback` in
 * `{"feedback":[1,{"a":2}]}`: `['1', '{"a":2}']`. `text` must already have been accepted by `JSON.parse`, which
 * loses what a double cannot hold (an id of 20 digits). As in `JSON.parse`, the last of several equal members counts;
 * null when the member is absent or no array.
 */
export function arrayElementTexts(text: string, member: string): string[] | null {
  let found: string[] | null = null;
  let at = skipSpace(text, 0);
  if (text[at] !== '{') return null;
  at = skipSpace(text, at + 1);
  while (at < text.length && text[at] !== '}') {
    const nameEnd = skipValue(text, at);
    const name: unknown = JSON.parse(text.slice(at, nameEnd));
    const valueStart = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const valueEnd = skipValue(text, valueStart);
    if (name === member) found = text[valueStart] === '[' ? elements(text, valueStart) : null;
    at = skipComma(text, valueEnd);
  }
  return found;
}

function elements(text: string, arrayStart: number): string[] {
  const result: string[] = [];
  let at = skipSpace(text, arrayStart + 1);
  while (at < text.length && text[at] !== ']') {
    const end = skipValue(text, at);
    result.push(text.slice(at, end));
    at = skipComma(text, end);
  }
  return result;
}

/** Index just after the value that starts at `at`. */
function skipValue(text: string, at: number): number {
  let depth = 0;
  do {
    const character = text[at];
    if (character === '"') {
      at = skipString(text, at);
    } else if (character === '{' || character === '[') {
      depth += 1;
      at += 1;
    } else if (character === '}' || character === ']') {
      depth -= 1;
      at += 1;
    } else if (depth > 0) {
      at += 1;
    } else {
      while (at < text.length && !',]} \t\r\n'.includes(text.charAt(at))) at += 1;
    }
  } while (depth > 0 && at < text.length);
  return at;
}

function skipString(text: string, at: number): number {
  for (let end = at + 1; end < text.length; end += 1) {
    if (text[end] === '\\') end += 1;
    else if (text[end] === '"') return end + 1;
  }
  return text.length;
}

function skipComma(text: string, at: number): number {
  const next = skipSpace(text, at);
  return text[next] === ',' ? skipSpace(text, next + 1) : next;
}

function skipSpace(text: string, at: number): number {
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1;
  return at;
}
