import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { FeedbackEntry, RejectedEntry } from '../feedback/rules/feedback-entry.ts';
import type { FeedbackPage } from './documentation-service.ts';
import { MalformedResponse } from './errors.ts';

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

/** `JSON.parse` that throws `MalformedResponse`, which, unlike `SyntaxError`, never quotes the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const what = text.trim() === '' ? 'an empty answer' : text.trimStart().startsWith('<') ? 'HTML' : 'something else';
    throw new MalformedResponse(`the service answered with ${what} where JSON was expected`);
  }
}

/*
 * The wire of the documentation service (service-interface.md, appendix included). Unknown fields are let through, unknown
 * values of `source` and `status` too. What the interface leaves open is `unknown` here and read elsewhere.
 */

const text = z.string();
const orNull = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null);
/** "Used when present, never required" (appendix): what cannot be understood counts as absent. */
const ifReadable = <T extends z.ZodType>(schema: T) => schema.nullish().catch(null);

/** The words of an error: a text by the interface, an object around one elsewhere. */
const errorWords = z.union([text, z.looseObject({ message: text }).transform(({ message }) => message)]);

/**
 * "Feedback entry", base fields. `id`, `path`, `source` and `status` identify an entry and cannot be absent; a
 * missing `comment` or `createdAt` says no more than a null one.
 */
const baseEntry = z.looseObject({
  id: text.min(1),
  path: text,
  comment: orNull(text),
  createdAt: orNull(text),
  source: text,
  status: text,
});

/** "Feedback entry", the three variants; base for every `source` without fields of its own, known or not. */
const feedbackEntrySchemas = {
  base: baseEntry,
  contextual: baseEntry.extend({ helpful: orNull(z.boolean()), contact: orNull(text) }),
  code_snippet: baseEntry.extend({ code: orNull(text), filename: orNull(text), lang: orNull(text) }),
};

/**
 * "Feedback response". Entries are parsed one by one, so that a bad one never fails its page. A missing `nextCursor`
 * says no more than a null one: `hasMore` says whether more follows.
 */
const feedbackResponseSchema = z.looseObject({
  feedback: z.array(z.unknown()),
  nextCursor: orNull(text),
  hasMore: z.boolean(),
});

/** "Error response (analytics)" and the `{error}` of the static export errors. Bodies from gateways have neither. */
export const errorResponseSchema = z.looseObject({
  error: ifReadable(errorWords),
  details: z
    .array(z.looseObject({ message: text }).catch({ message: '' }))
    .nullish()
    .catch(null),
});

const jobFields = {
  /** "Types and units: not shown." */
  progress: z.unknown().optional(),
  pageCount: z.unknown().optional(),
  createdAt: ifReadable(text),
  updatedAt: ifReadable(text),
  error: ifReadable(errorWords),
};

/** Answer of "Start static export job": only `jobId` is promised. */
export const startedJobSchema = z.looseObject({ jobId: text.min(1), status: ifReadable(text), ...jobFields });

/** Answer of "Get static export job status": only `status` is promised. */
export const jobStatusSchema = z.looseObject({ status: text, jobId: ifReadable(text), ...jobFields });

/** Answer of "Generate export bundle". */
export const bundleResponseSchema = z.looseObject({
  bundleUrl: text.min(1),
  jobId: ifReadable(text),
  sizeBytes: ifReadable(z.int().nonnegative()),
  expiresAt: ifReadable(text),
});

/**
 * Longest id that every database accepts as a key (an index row of PostgreSQL has 2,700 bytes). An entry with a longer
 * one is rejected, instead of failing its page at each try.
 */
const longestId = 512;

/** Levels within the value of an unknown field: writing much deeper ones overflows the stack, so their page would always fail. */
const deepestField = 100;

const baseFields = new Set(['id', 'path', 'comment', 'createdAt', 'source', 'status']);

/**
 * Reads a "Feedback response" (service-interface.md). Throws `MalformedResponse` when the page itself is unreadable; an
 * unreadable entry becomes a `RejectedEntry`.
 */
export function readFeedbackPage(text: string): FeedbackPage {
  const json = parseJson(text);
  const page = feedbackResponseSchema.safeParse(json);
  if (!page.success) throw new MalformedResponse(`the feedback page is malformed: ${describeIssue(page.error, json)}`);
  const entries: FeedbackEntry[] = [];
  const rejected: RejectedEntry[] = [];
  let sources: string[] | null = null;
  for (const [index, value] of page.data.feedback.entries()) {
    const result = readEntry(value);
    if (typeof result !== 'string') {
      entries.push(result);
    } else {
      sources ??= arrayElementTexts(text, 'feedback');
      rejected.push(rejection(value, sources?.[index] ?? JSON.stringify(value), result));
    }
  }
  // An empty cursor would ask for the first page again.
  return { entries, rejected, nextCursor: page.data.nextCursor || null, hasMore: page.data.hasMore };
}

/** The entry, or the reason why it is unreadable. */
function readEntry(value: unknown): FeedbackEntry | string {
  const base = feedbackEntrySchemas.base.safeParse(value);
  if (!base.success) return describeIssue(base.error, value);
  const { id, path, comment, createdAt, source, status } = base.data;
  if (id.length > longestId) return `id: longer than ${longestId} characters`;
  if (source === 'contextual' || source === 'code_snippet') {
    const variant = feedbackEntrySchemas[source].safeParse(value);
    if (!variant.success) return describeIssue(variant.error, value);
  }
  const rest = new Map(Object.entries(value as object).filter(([name]) => !baseFields.has(name)));
  const variant = takeVariant(rest);
  if ([...rest.values()].some((field) => isDeeper(field, deepestField))) {
    return `an unknown field: nested deeper than ${deepestField} levels`;
  }
  return { id, path, comment, createdAt, source, status, ...variant, extra: Object.fromEntries(rest) };
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

type Variant = Pick<FeedbackEntry, 'helpful' | 'contact' | 'code' | 'filename' | 'lang'>;

/**
 * Takes the variants' fields out of `rest`. An entry of another variant may have such a field too: it is taken if it has
 * the right type, otherwise left among the unknown ones.
 */
function takeVariant(rest: Map<string, unknown>): Variant {
  return {
    helpful: take(rest, 'helpful', (value) => typeof value === 'boolean'),
    contact: take(rest, 'contact', isString),
    code: take(rest, 'code', isString),
    filename: take(rest, 'filename', isString),
    lang: take(rest, 'lang', isString),
  };
}

function take<T>(rest: Map<string, unknown>, name: string, is: (value: unknown) => value is T): T | null {
  const value = rest.get(name);
  if (value !== null && !is(value)) return null;
  rest.delete(name);
  return value;
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function rejection(value: unknown, raw: string, reason: string): RejectedEntry {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : null;
  if (typeof id === 'string' && id !== '' && id.length <= longestId) return { id, raw, reason };
  return { id: `sha256:${createHash('sha256').update(raw).digest('hex').slice(0, 32)}`, raw, reason };
}
