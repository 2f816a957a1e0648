import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { FeedbackEntry, RejectedEntry } from '../feedback/rules/feedback-entry.ts';
import type { FeedbackPage } from './documentation-service.ts';
import { MalformedResponse } from './errors.ts';
import { arrayElementTexts, describeIssue, orNull, parseJson, text } from './json-answers.ts';

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
