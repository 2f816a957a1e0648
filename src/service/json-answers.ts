import { z } from 'zod';
import { MalformedResponse } from './errors.ts';

/*
 * The wire of the documentation service (service-interface.md, appendix included). Unknown fields are let through, unknown
 * values of `source` and `status` too. What the interface leaves open is `unknown` here and read elsewhere.
 */

export const text = z.string();
export const orNull = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null);
/** "Used when present, never required" (appendix): what cannot be understood counts as absent. */
export const ifReadable = <T extends z.ZodType>(schema: T) => schema.nullish().catch(null);

/** The words of an error: a text by the interface, an object around one elsewhere. */
export const errorWords = z.union([text, z.looseObject({ message: text }).transform(({ message }) => message)]);

/** "Error response (analytics)" and the `{error}` of the static export errors. Bodies from gateways have neither. */
export const errorResponseSchema = z.looseObject({
  error: ifReadable(errorWords),
  details: z
    .array(z.looseObject({ message: text }).catch({ message: '' }))
    .nullish()
    .catch(null),
});

/** Names the field and the type of its value, never the value: `contact: expected string, got number`. */
export function describeIssue(error: z.ZodError, input: unknown): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'not understood';
  const field = issue.path.length === 0 ? 'the whole' : issue.path.map(String).join('.');
  const got = typeName(valueAt(input, issue.path));
  if (issue.code === 'too_small') return `${field}: must not be empty`;
  const expected = issue.code === 'invalid_type' ? issue.expected : 'something else';
  return got === 'nothing' ? `${field}: missing` : `${field}: expected ${expected}, got ${got}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

function typeName(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

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

/**
 * `JSON.parse` of a text that it has accepted before, with every number beyond the safe integers as the text that stood
 * there: snowflake ids keep their last digits. Fractions are rounded to doubles: text now and then would be harder to use.
 */
export function parseExactly(text: string): unknown {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') {
      at = skipString(text, at);
      continue;
    }
    aNumber.lastIndex = at;
    const [number = ''] = aNumber.exec(text) ?? [];
    if (Math.abs(Number(number)) > Number.MAX_SAFE_INTEGER) {
      parts.push(text.slice(from, at), `"${number}"`);
      from = at + number.length;
    }
    at += number.length || 1;
  }
  return JSON.parse(parts.join('') + text.slice(from));
}

const aNumber = /-?\d[\d.eE+-]*/y;

/** `JSON.parse` that throws `MalformedResponse`, which, unlike `SyntaxError`, never quotes the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const what = text.trim() === '' ? 'an empty answer' : text.trimStart().startsWith('<') ? 'HTML' : 'something else';
    throw new MalformedResponse(`the service answered with ${what} where JSON was expected`, null, what);
  }
}
