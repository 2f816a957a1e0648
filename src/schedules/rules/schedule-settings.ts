/** 64-bit FNV-1a over UTF-16 code units: the same on every machine and in every version. Not for secrets. */
export function stableHash(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index += 1) {
    hash ^= BigInt(text.charCodeAt(index));
    hash = BigInt.asUintN(64, hash * 0x100000001b3n);
  }
  return hash;
}

/** Values `start`, `start + step`, … up to `end`. */
interface ValueRange {
  start: number;
  end: number;
  step: number;
}

/** Times that match in all fields, as Temporal's schedules: months are 1 to 12, days of the week 0 (Sunday) to 6. */
export interface Calendar {
  minute: ValueRange[];
  hour: ValueRange[];
  dayOfMonth: ValueRange[];
  month: ValueRange[];
  dayOfWeek: ValueRange[];
}

interface Field {
  name: keyof Calendar;
  min: number;
  max: number;
  names: readonly string[];
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const fields: readonly [Field, ...Field[]] = [
  { name: 'minute', min: 0, max: 59, names: [] },
  { name: 'hour', min: 0, max: 23, names: [] },
  { name: 'dayOfMonth', min: 1, max: 31, names: [] },
  { name: 'month', min: 1, max: 12, names: monthNames },
  { name: 'dayOfWeek', min: 0, max: 6, names: dayNames },
];

const shorthands: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '@yearly': '0 0 1 1 *',
    '@annually': '0 0 1 1 *',
    '@monthly': '0 0 1 * *',
    '@weekly': '0 0 * * 0',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@hourly': '0 * * * *',
  }),
);

/**
 * The calendars of a cron expression of five fields, or of `@daily` and the like; null for anything else. As in cron, either
 * day is enough where the days of the month and of the week are both restricted: a calendar would want both.
 */
export function calendarsOfCron(text: string): Calendar[] | null {
  const parts = partsOf(text);
  if (parts.length !== fields.length) return null;
  const calendar: Calendar = { minute: [], hour: [], dayOfMonth: [], month: [], dayOfWeek: [] };
  for (const [index, field] of fields.entries()) {
    const ranges = rangesOf(parts[index] ?? '', field);
    if (ranges === null) return null;
    calendar[field.name] = ranges;
  }
  const [, , dayOfMonth = '', , dayOfWeek = ''] = parts;
  if (dayOfMonth.includes('*') || dayOfWeek.includes('*')) return [calendar];
  const either = [
    { ...calendar, dayOfWeek: [{ start: 0, end: 6, step: 1 }] },
    { ...calendar, dayOfMonth: [{ start: 1, end: 31, step: 1 }] },
  ];
  return [...new Map(either.map((days) => [calendarText(days), days])).values()];
}

/** What is wrong with a cron expression; null where it names times that come. */
export function cronProblem(text: string): string | null {
  const parts = partsOf(text);
  const calendars = calendarsOfCron(text);
  if (parts.length !== fields.length) return 'expected five cron fields such as "0 6 * * *", or @daily and the like';
  if (calendars !== null) return calendars.some(comes) ? null : 'expected a day that one of its months has';
  const wrong = fields.findIndex((field, index) => rangesOf(parts[index] ?? '', field) === null);
  const { name, min, max } = fields[wrong] ?? fields[0];
  const field = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `expected ${min} to ${max} as ${field}, not ${JSON.stringify(parts[wrong])}`;
}

function partsOf(text: string): string[] {
  const written = text.trim();
  return (shorthands.get(written) ?? written).split(/\s+/);
}

/** Whether one of its months has one of its days, in a leap year. */
function comes({ month, dayOfMonth }: Calendar): boolean {
  const longest = Math.max(...valuesOf(month).map((one) => new Date(Date.UTC(2024, one, 0)).getUTCDate()));
  return Math.min(...valuesOf(dayOfMonth)) <= longest;
}

/** The calendar as a normalized cron expression: calendars that match the same times have the same text. */
export function calendarText(calendar: Calendar): string {
  return fields.map((field) => fieldText(valuesOf(calendar[field.name]), field)).join(' ');
}

const dayMinutes = 24 * 60;

/** Over how many milliseconds equal calendars are spread: a tenth of their shortest period, at most ten minutes. */
export function spreadOf({ minute, hour }: Pick<Calendar, 'minute' | 'hour'>): number {
  const times = valuesOf(hour).flatMap((h) => valuesOf(minute).map((m) => h * 60 + m));
  const next = [...times.slice(1), (times[0] ?? 0) + dayMinutes];
  const shortest = Math.min(...times.map((time, index) => (next[index] ?? time) - time));
  return Math.min(10, shortest / 10) * 60_000;
}

function rangesOf(text: string, field: Field): ValueRange[] | null {
  const ranges = text.split(',').map((part) => rangeOf(part, field));
  return ranges.every((range) => range !== null) ? ranges.flatMap((range) => sundayFirst(range, field)) : null;
}

function rangeOf(text: string, field: Field): ValueRange | null {
  const [range = '', stepText, ...more] = text.split('/');
  if (more.length > 0 || (stepText !== undefined && !/^[1-9]\d{0,3}$/.test(stepText))) return null;
  const step = Number(stepText ?? 1);
  if (range === '*') return { start: field.min, end: field.max, step };
  const [start, end, ...rest] = range.split('-').map((value) => fieldValue(value, field));
  if (rest.length > 0 || start === undefined || start === null || end === null) return null;
  if (end !== undefined) return end >= start ? { start, end, step } : null;
  // `5/10` means every 10 from 5, `5` only 5. The last day of a week is Sunday, as Temporal counts: `3/2` has one.
  return { start, end: stepText === undefined ? start : greatest(field), step };
}

function fieldValue(text: string, field: Field): number | null {
  const { min, names } = field;
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return named + min;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : -1;
  return value >= min && value <= greatest(field) ? value : null;
}

/** Sunday is 0 or 7. */
const greatest = ({ name, max }: Field): number => (name === 'dayOfWeek' ? 7 : max);

/** Turns Sunday written as 7 into 0, if necessary as a separate range. */
function sundayFirst(range: ValueRange, { max, name }: Field): ValueRange[] {
  if (name !== 'dayOfWeek' || range.end <= max) return [range];
  const sunday = (range.end - range.start) % range.step === 0 ? [{ start: 0, end: 0, step: 1 }] : [];
  return range.start > max ? sunday : [...sunday, { ...range, end: max }];
}

function valuesOf(ranges: readonly ValueRange[]): number[] {
  const values = new Set<number>();
  for (const { start, end, step } of ranges) for (let value = start; value <= end; value += step) values.add(value);
  return [...values].sort((a, b) => a - b);
}

function fieldText(values: readonly number[], { min, max }: Field): string {
  const [first = min, second = first, third] = values;
  const last = values.at(-1) ?? first;
  const step = second - first;
  const even = third !== undefined && values.every((value, index) => value === first + index * step);
  if (!even) return values.join(',');
  const whole = first === min && last + step > max;
  if (step === 1) return whole ? '*' : `${first}-${last}`;
  return whole ? `*/${step}` : `${first}-${last}/${step}`;
}

/** When a schedule acts, how, and what it starts: as desired, or as on the server. */
export interface ScheduleSettings {
  intervals: { everyMs: number; offsetMs: number }[];
  calendars: Calendar[];
  /** IANA name; empty means UTC. */
  timezone: string;
  jitterMs: number;
  overlap: string;
  catchupMs: number;
  pauseOnFailure: boolean;
  action: ScheduleAction;
  /** Settings by name that docferry never makes but a person may have: skipped times, limits, retries. */
  extras: Readonly<Record<string, unknown>>;
}

interface ScheduleAction {
  workflowType: string;
  taskQueue: string;
  workflowId: string;
  /** Input of the workflow; anything on the server. */
  input: unknown;
  summary: string;
  /** Null: the server's. */
  taskTimeoutMs: number | null;
  /** Search attributes by name. */
  attributes: Readonly<Record<string, string>>;
}

/** Settings as readable texts by name: equal settings have equal texts. */
export function settingsFacts(settings: ScheduleSettings): Record<string, string> {
  const { action } = settings;
  return {
    when: whenText(settings),
    jitter: durationText(settings.jitterMs),
    overlap: settings.overlap,
    'catch-up window': durationText(settings.catchupMs),
    'pause on failure': settings.pauseOnFailure ? 'yes' : 'no',
    workflow: action.workflowType,
    'task queue': action.taskQueue,
    'workflow id': action.workflowId,
    input: sortedJson(action.input),
    summary: action.summary,
    'workflow task time-out': action.taskTimeoutMs === null ? "the server's" : durationText(action.taskTimeoutMs),
    'search attributes': sortedJson(action.attributes),
    'other settings': sortedJson(settings.extras),
  };
}

/** `every 15m (offset 2m 3s)`, `every day at 06:03:20 UTC`, `0 6 * * * Europe/Berlin`; several are joined by `and`. */
export function whenText(settings: Pick<ScheduleSettings, 'intervals' | 'calendars' | 'timezone'>): string {
  const { intervals, calendars, timezone } = settings;
  const zone = timezone === '' ? 'UTC' : timezone;
  const times = [...intervals.map(intervalText), ...calendars.map((calendar) => `${calendarText(calendar)} ${zone}`)];
  return times.length === 0 ? 'never' : times.sort().join(' and ');
}

function intervalText({ everyMs, offsetMs }: ScheduleSettings['intervals'][number]): string {
  if (everyMs === 86_400_000) return `every day at ${new Date(offsetMs).toISOString().slice(11, 19)} UTC`;
  return `every ${durationText(everyMs)} (offset ${durationText(offsetMs)})`;
}

/** The differences as `name: before → after`. */
export function factChanges(before: Record<string, string>, after: Record<string, string>): string[] {
  return Object.keys(after)
    .filter((name) => before[name] !== after[name])
    .map((name) => `${name}: ${before[name] ?? '-'} → ${after[name]}`);
}

/** Digest of all settings, 16 hex digits. */
export function settingsDigest(settings: ScheduleSettings): string {
  return stableHash(JSON.stringify(settingsFacts(settings)))
    .toString(16)
    .padStart(16, '0');
}

/** Exact, in the notation of the configuration: `15m`, `1h 30m`, `500ms`. */
export function durationText(ms: number): string {
  const units: [string, number][] = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
    ['ms', 1],
  ];
  let left = ms;
  const parts: string[] = [];
  for (const [name, size] of units) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count}${name}`);
  }
  return parts.length === 0 ? '0s' : parts.join(' ');
}

/** JSON with sorted keys, without undefined fields. */
function sortedJson(value: unknown): string {
  const sorted = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(sorted);
    if (part === null || typeof part !== 'object' || part instanceof Date) return part;
    const entries = Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
  };
  return JSON.stringify(sorted(value)) ?? '';
}
