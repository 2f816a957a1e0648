/**
 * Shapes of messages that other programs, other versions of docferry, or people in the Temporal UI send to workflows.
 * A refusal names the field and what may stand there, never the value: that may hold anything (X5).
 */

import { z } from 'zod/mini';
import { isoInstant } from './text.ts';

export class Misshapen extends Error {
  override readonly name = 'Misshapen';
}

/** Reads a message, or throws `Misshapen` with the name of the first field that is wrong. */
export type Reader<T> = (value: unknown) => T;

/**
 * A reader of messages of this shape. Modules export readers and functions that make shapes, never shapes: zod computes
 * parts of them at their first use, and workers freeze every object that modules of workflows export.
 */
export function reader<T>(shape: z.ZodMiniType<T>): Reader<T> {
  return (value) => {
    // Without input, a message names the first field it lacks.
    const { data, error } = z.safeParse(shape, value === undefined ? {} : value, { error: expectation });
    if (!error) return data;
    const [issue] = error.issues;
    throw new Misshapen(`${issue ? fieldOf(issue) : 'the input'}: expected ${issue?.message}`);
  };
}

/** Ids and names: short enough for a workflow id in any encoding, without what protocols or terminals choke on. */
export const text = () => textLike(/^[^\p{Cc}\p{Cs}]{1,300}$/u, 'a text of 1 to 300 characters');

/** What a person wrote, of any length: lone surrogates alone, which no protocol takes, are refused. */
export const writing = () => z.string().check(z.refine((value) => value.isWellFormed(), 'a text'));

export function textLike(pattern: RegExp, expected: string) {
  // No `z.regex`: zod writes to the pattern, and one that a module exports is frozen.
  return z.string(expected).check(z.refine((value) => pattern.test(value), expected));
}

export function number(min: number, max: number) {
  const expected = `a number from ${min} to ${max}`;
  return z.number(expected).check(...within(min, max, expected));
}

export function wholeNumber(min: number, max: number) {
  const expected = `a whole number from ${min} to ${max}`;
  return z.int(expected).check(...within(min, max, expected));
}

/** −0 becomes 0: JSON may hold −0 but is written with 0, and the next run has to hold the same number. */
const within = (min: number, max: number, expected: string) => [
  z.minimum(min, expected),
  z.maximum(max, expected),
  z.overwrite<number>((value) => value + 0),
];

/** How many of something. */
export const count = () => number(0, Number.MAX_SAFE_INTEGER);

const momentText = 'a moment in ISO 8601';
/** A moment as docferry writes it. */
export const instant = () => z.string(momentText).check(z.refine((value) => isoInstant(value) !== null, momentText));

const objectText = 'the text of a JSON object';
export const jsonText = () => z.string(objectText).check(z.refine(isJsonObject, objectText));

function isJsonObject(value: string): boolean {
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

/** What docferry itself wrote, such as what a run hands to the next: taken as it is, and absent from the first. */
export const own = <T>() => z.exactOptional(z.custom<Exclude<T, undefined>>());

/** What may stand in a field, where its shape does not say so itself: for `z.safeParse`. */
export function expectation(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_value') return `one of ${issue.values.join(', ')}`;
  if (issue.code === 'too_big') return `a list of at most ${issue.maximum}`;
  if (issue.code === 'unrecognized_keys') return `no such field, only ${fieldsOf(issue.inst).join(', ')}`;
  return issue.code === 'invalid_type' ? (typeNames[issue.expected] ?? issue.expected) : 'something else';
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

const fieldsOf = (shape: unknown): string[] =>
  shape instanceof z.ZodMiniObject ? Object.keys((shape as z.ZodMiniObject).shape) : [];

/** `throttled.retryAfterMs`, `arrived[1]`. */
function fieldOf(issue: z.core.$ZodIssue): string {
  const path = [...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const [unknown = ''] = issue.keys;
    // What is no name of a field may be anything.
    path.push(/^\w{1,40}$/.test(unknown) ? unknown : 'a field of another name');
  }
  const field = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return field === '' ? 'the input' : field.replace(/^\./, '');
}
