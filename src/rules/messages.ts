/**
 * Reads messages that other programs, other versions of docferry, or people in the Temporal UI send to workflows: a
 * reader returns what it knows of a value, or throws `Misshapen` with the name of the field (X5).
 */

import { isoInstant } from './text.ts';

export class Misshapen extends Error {
  override readonly name = 'Misshapen';
}

/** `field` is where the value stands, as `Misshapen` names it: empty for the message itself. */
export type Reader<T> = (value: unknown, field?: string) => T;

/** What a reader makes of a value it accepts. */
export type Read<R> = R extends Reader<infer T> ? T : never;

/** Ids and names: short enough for a workflow id in any encoding, without what protocols or terminals choke on. */
export const text: Reader<string> = (value, field = '') => {
  const isText = typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,300}$/u.test(value);
  return isText ? value : refuse(field, 'a text of 1 to 300 characters');
};

/** What a person wrote, of any length: lone surrogates alone, which no protocol takes, are refused. */
export const writing: Reader<string> = (value, field = '') =>
  typeof value === 'string' && value.isWellFormed() ? value : refuse(field, 'a text');

export const bool: Reader<boolean> = (value, field = '') =>
  typeof value === 'boolean' ? value : refuse(field, 'true or false');

export const number =
  (min: number, max: number): Reader<number> =>
  (value, field = '') =>
    typeof value === 'number' && value >= min && value <= max ? value : refuse(field, `a number from ${min} to ${max}`);

export const wholeNumber =
  (min: number, max: number): Reader<number> =>
  (value, field = '') =>
    Number.isInteger(value) ? number(min, max)(value, field) : refuse(field, `a whole number from ${min} to ${max}`);

/** What docferry itself wrote, such as what a run hands to the next. */
export const own =
  <T>(): Reader<Exclude<T, undefined>> =>
  (value) =>
    value as Exclude<T, undefined>;

/** A moment in ISO 8601, as docferry writes it. */
export const instant: Reader<string> = (value, field = '') =>
  typeof value === 'string' && isoInstant(value) !== null ? value : refuse(field, 'a moment in ISO 8601');

/** The text of a JSON object. */
export const jsonText: Reader<string> = (value, field = '') => {
  try {
    if (typeof value === 'string' && typeof JSON.parse(value) === 'object' && value !== 'null') return value;
  } catch {}
  return refuse(field, 'the text of a JSON object');
};

export const oneOf =
  <T extends string>(choices: readonly T[]): Reader<T> =>
  (value, field = '') =>
    choices.find((choice) => choice === value) ?? refuse(field, `one of ${choices.join(', ')}`);

export const nullable =
  <T>(reader: Reader<T>): Reader<T | null> =>
  (value, field = '') =>
    value === null ? null : reader(value, field);

export const list =
  <T>(reader: Reader<T>, longest: number): Reader<T[]> =>
  (value, field = '') =>
    Array.isArray(value) && value.length <= longest
      ? value.map((item, i) => reader(item, `${field}[${i}]`))
      : refuse(field, `a list of at most ${longest}`);

type Fields = Record<string, Reader<unknown>>;
type Required<F extends Fields> = { [Name in keyof F]: Read<F[Name]> };
type Optional<F extends Fields> = { [Name in keyof F]?: Read<F[Name]> };

/** An object with these fields; fields it does not name are left out. */
export const record =
  <R extends Fields, O extends Fields>(required: R, optional: O): Reader<Required<R> & Optional<O>> =>
  (value, field = '') => {
    // Without input, a message names the first field it lacks.
    const input = value === undefined ? {} : value;
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return refuse(field, 'an object');
    const given = new Map<string, unknown>(Object.entries(input));
    const present = Object.entries(optional).filter(([name]) => given.get(name) !== undefined);
    const fields = [...Object.entries(required), ...present];
    const read = fields.map(([name, reader]) => [
      name,
      reader(given.get(name), field === '' ? name : `${field}.${name}`),
    ]);
    return Object.fromEntries(read);
  };

/**
 * Like `record`, for what a person decides and for what starts work: a field it does not name is refused, because a
 * misspelt one would decide otherwise than the person meant.
 */
export const strictRecord = <R extends Fields, O extends Fields>(
  required: R,
  optional: O,
): Reader<Required<R> & Optional<O>> => {
  const allowed = Object.keys({ ...required, ...optional });
  const readFields = record(required, optional);
  return (value, field = '') => {
    const fields = readFields(value, field);
    const unknown = Object.keys(value ?? {}).find((name) => !allowed.includes(name));
    if (unknown === undefined) return fields;
    // What is no name of a field may be anything.
    const named = /^\w{1,40}$/.test(unknown) ? unknown : 'a field of another name';
    return refuse(field === '' ? named : `${field}.${named}`, `no such field, only ${allowed.join(', ')}`);
  };
};

/** What a value is expected to be: the value itself may hold anything, so it is not quoted. */
export function refuse(field: string, expected: string): never {
  throw new Misshapen(`${field === '' ? 'the input' : field}: expected ${expected}`);
}
