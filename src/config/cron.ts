interface Field {
  min: number;
  max: number;
  names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Minute, hour, day of month, month, day of week. */
const FIELDS: readonly Field[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 7, names: WEEKDAYS },
];

/** Whether Temporal's schedules understand `text` as a cron expression of five fields, or as `@daily` and the like. */
export function isCron(text: string): boolean {
  if (/^@(yearly|annually|monthly|weekly|daily|midnight|hourly)$/.test(text)) return true;
  const fields = text.trim().split(/\s+/);
  return fields.length === FIELDS.length && FIELDS.every((field, index) => isField(fields[index] ?? '', field));
}

function isField(text: string, field: Field): boolean {
  return text.split(',').every((part) => {
    const [range = '', step, ...more] = part.split('/');
    if (more.length > 0 || (step !== undefined && !/^[1-9]\d*$/.test(step))) return false;
    if (range === '*') return true;
    const [from, to, ...rest] = range.split('-').map((value) => numberOf(value, field));
    return rest.length === 0 && from !== undefined && from >= field.min && (to === undefined || to >= from);
  });
}

/** -1 for what is no value of the field. */
function numberOf(text: string, { min, max, names }: Field): number {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return names === MONTHS ? named + 1 : named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : -1;
  return value >= min && value <= max ? value : -1;
}
