/** How a value is written on the command line: `duration` like `250ms` or `1h`, `size` like `200MiB`. */
export type FieldKind = 'number' | 'string' | 'boolean' | 'duration' | 'size';

/** One option or fault of the sandbox: its flag, its default and what it accepts. */
export interface Field<Value> {
  /** Kebab-case, without the leading dashes. */
  flag: string;
  kind: FieldKind;
  description: string;
  default: Value;
  /** What is allowed, in words that follow "must be". */
  expected: string;
  accepts(value: unknown): value is Value;
}

export type ValuesOf<Fields> = { [Name in keyof Fields]: Fields[Name] extends Field<infer Value> ? Value : never };

export type Fields = Record<string, Field<unknown>>;

interface Bounds {
  min?: number;
  max?: number;
  whole?: boolean;
}

function numeric(
  kind: FieldKind,
  unit: string,
  flag: string,
  initial: number,
  description: string,
  bounds: Bounds,
): Field<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, whole = false } = bounds;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return {
    flag,
    kind,
    description,
    default: initial,
    expected: `${unit} ${range}`,
    accepts: (value): value is number =>
      typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value)),
  };
}

export function numberField(flag: string, initial: number, description: string, bounds: Bounds = {}): Field<number> {
  return numeric('number', 'a number', flag, initial, description, bounds);
}

/** A whole number of at least 0 (or `min`). */
export function countField(flag: string, initial: number, description: string, bounds: Bounds = {}): Field<number> {
  return numeric('number', 'a whole number', flag, initial, description, { ...bounds, whole: true });
}

/** A share from 0 to 1. */
export function shareField(flag: string, initial: number, description: string): Field<number> {
  return numeric('number', 'a number', flag, initial, description, { max: 1 });
}

/** Milliseconds. */
export function durationField(flag: string, initial: number, description: string, bounds: Bounds = {}): Field<number> {
  return numeric('duration', 'a duration', flag, initial, description, bounds);
}

/** Bytes. */
export function sizeField(flag: string, initial: number, description: string): Field<number> {
  return numeric('size', 'a number of bytes', flag, initial, description, { whole: true });
}

export function booleanField(flag: string, description: string): Field<boolean> {
  return {
    flag,
    kind: 'boolean',
    description,
    default: false,
    expected: 'true or false',
    accepts: (value): value is boolean => typeof value === 'boolean',
  };
}

export function textField(flag: string, initial: string, description: string, pattern = /^/): Field<string> {
  return {
    flag,
    kind: 'string',
    description,
    default: initial,
    expected: pattern.source === '^' ? 'text' : `text like ${pattern.source}`,
    accepts: (value): value is string => typeof value === 'string' && pattern.test(value),
  };
}

export function choiceField<const Choice extends string>(
  flag: string,
  choices: readonly [Choice, ...Choice[]],
  description: string,
): Field<Choice> {
  return {
    flag,
    kind: 'string',
    description: `${description} (${choices.join(', ')})`,
    default: choices[0],
    expected: `one of ${choices.join(', ')}`,
    accepts: (value): value is Choice => choices.some((choice) => choice === value),
  };
}

/** The defaults of a table, overlaid with the given values. Throws an Error that names a value it does not accept. */
export function resolveFields<Table extends Fields>(
  table: Table,
  given: Partial<ValuesOf<Table>>,
  subject: string,
): ValuesOf<Table> {
  const values: Record<string, unknown> = {};
  const wanted: Record<string, unknown> = given;
  for (const [name, field] of Object.entries(table)) {
    const value = wanted[name] ?? field.default;
    if (!field.accepts(value)) throw new Error(`${subject} ${name} must be ${field.expected}`);
    values[name] = value;
  }
  return values as ValuesOf<Table>;
}
