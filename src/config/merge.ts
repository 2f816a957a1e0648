/** A mapping of the file. */
export type Mapping = Readonly<Record<string, unknown>>;

/** Schedules are one value: `cron` of an entry must not meet `every` of the default. */
const wholes = new Set(['schedule', 'incremental', 'review', 'sweep']);

/**
 * An entry with what the defaults add to it: mappings are merged field by field; lists, schedules and single values of
 * its own replace the default, and null takes it away.
 */
export function merged(defaults: Mapping, own: Mapping): Mapping {
  const fields = new Map(Object.entries(defaults));
  for (const [key, value] of Object.entries(own)) {
    const initial = fields.get(key);
    if (value === null && initial !== undefined) fields.delete(key);
    else fields.set(key, mixes(key, initial, value) ? merged(initial as Mapping, value as Mapping) : value);
  }
  return Object.fromEntries(fields);
}

/** Whether the field at `path` of the merged entry was written in the defaults. */
export function isFromDefaults(defaults: Mapping, own: Mapping, path: readonly PropertyKey[]): boolean {
  const [key, ...rest] = path;
  if (typeof key !== 'string') return false;
  const [initial, value] = [defaults[key], own[key]];
  if (value === undefined) return initial !== undefined;
  return mixes(key, initial, value) && isFromDefaults(initial as Mapping, value as Mapping, rest);
}

function mixes(key: string, initial: unknown, own: unknown): boolean {
  return !wholes.has(key) && isMapping(initial) && isMapping(own);
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
