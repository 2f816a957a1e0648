import { stableHash } from './stable-hash.ts';
import { type Calendar, calendarText } from './cron-calendar.ts';

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

export interface ScheduleAction {
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

/** `every 15m (offset 2m 3s)`, `0 6 * * * Europe/Berlin`; several are joined by `and`. */
export function whenText({
  intervals,
  calendars,
  timezone,
}: Pick<ScheduleSettings, 'intervals' | 'calendars' | 'timezone'>): string {
  const zone = timezone === '' ? 'UTC' : timezone;
  const times = [
    ...intervals.map(({ everyMs, offsetMs }) => `every ${durationText(everyMs)} (offset ${durationText(offsetMs)})`),
    ...calendars.map((calendar) => `${calendarText(calendar)} ${zone}`),
  ];
  return times.length === 0 ? 'never' : times.sort().join(' and ');
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
