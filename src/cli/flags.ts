import { type Command, Option } from 'commander';
import { parseDuration } from '../config/field-schemas.ts';
import { longestReason } from '../exports/rules/site-export.ts';
import type { RecordFilter } from '../feedback/files/feedback-record.ts';
import { knownSources, knownStatuses } from '../feedback/rules/feedback-entry.ts';
import { boundsProblem } from '../feedback/rules/pass-bounds.ts';
import { inFourDigitYears, isoInstant } from '../rules/text.ts';
import { usageFailure } from './failure.ts';

/** `--from` and `--to`, as far as they are given. Throws a usage failure when they are not dates in this order. */
export function dateRange({ from, to }: { from?: string; to?: string }): { from?: string; to?: string } {
  const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
  const wrong = boundsProblem(range);
  if (wrong) throw usageFailure(`--${wrong.field} is ${JSON.stringify(wrong.held)}: it ${wrong.problem}`);
  return range;
}

// Each takes the name of a flag and returns what reads its value. They throw usage failures that name the flag.

/** A reader of values; what it reads as null is refused: it `must` be something else. */
const reader =
  <Value>(read: (text: string) => Value | null, must: string) =>
  (flag: string) =>
  (text: string): Value => {
    const value = read(text);
    if (value !== null) return value;
    throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must ${must}`);
  };

const within = (least: number, most: number) => (text: string) => {
  const number = /^\d{1,7}$/.test(text) ? Number(text) : -1;
  return number >= least && number <= most ? number : null;
};

export const port = reader(within(1, 65_535), 'be a port from 1 to 65535');

export interface HostAndPort {
  host: string;
  port: number;
}

/** `host:port`; an IPv6 address is in brackets. */
export const hostAndPort =
  (flag: string) =>
  (text: string): HostAndPort => {
    const [, bracketed, host = bracketed, number = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
    if (host !== undefined) return { host, port: port(flag)(number) };
    throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be host:port, e.g. 127.0.0.1:8091`);
  };

/** More would lead to years that no date has. */
const longestDurationMs = 36_525 * 86_400_000;

/** A positive duration of at most a century, in milliseconds. */
export const duration = reader((text) => {
  const ms = parseDuration(text);
  return ms !== null && ms > 0 && ms <= longestDurationMs ? ms : null;
}, 'be a duration like 90s, 30m or 2h, of a century at most');

/** A date, or how long ago, as an ISO 8601 moment. */
export const moment = reader((text) => {
  const ago = parseDuration(text);
  const ms = ago === null ? isoInstant(text) : inFourDigitYears(Date.now() - ago);
  return ms === null ? null : new Date(ms).toISOString();
}, 'be an ISO 8601 date or date-time, or how long ago: 30d');

export const wholeNumber = reader(within(0, 9_999_999), 'be a whole number');

export const listLimit = reader(within(1, 100_000), 'be a whole number from 1 to 100000')('--limit');

/** `--reason`, trimmed; null when it is blank. */
export function reason(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed.length <= longestReason) return trimmed || null;
  throw usageFailure(`--reason has ${trimmed.length} characters, expected at most ${longestReason}`);
}

const named = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : null);

/** The name of a Worker Deployment: Temporal writes a dot or colon between it and the build. */
export const deploymentName = reader(
  named(/^[\w/-]{1,100}$/),
  'have up to 100 letters, digits or / _ -',
)('--deployment');

export const buildId = reader(named(/^[\w.+@-]{1,100}$/), 'have up to 100 letters, digits or . _ + @ -')('--build');

/** The flags of commands that can wait for their workflow. */
export interface WaitFlags {
  wait?: boolean;
  /** Milliseconds. */
  timeout?: number;
}

export function addWaitFlags(command: Command): Command {
  return command
    .option('--wait', 'wait for the end and show progress; Ctrl-C only stops the waiting')
    .option('--timeout <duration>', 'wait no longer than this, e.g. 30m (then exit code 5)', duration('--timeout'));
}

/** Node's timers hold no more, about 24 days. */
const longestTimerMs = 2 ** 31 - 1;

/** Milliseconds of `--timeout`, null without one. Throws a usage failure. */
export function waitTimeout({ wait, timeout }: WaitFlags): number | null {
  if (timeout === undefined) return null;
  if (!wait) throw usageFailure('--timeout limits the waiting and needs --wait');
  return Math.min(timeout, longestTimerMs);
}

/** What a list of the past is narrowed down to. */
export interface HistoryFlags<Outcome extends string = never> {
  outcome?: Outcome;
  /** An ISO 8601 moment. */
  since?: string;
  limit: number;
}

/** `--since` and `--limit`. @param what e.g. `runs that began` */
export function addListFlags(command: Command, what: string): Command {
  const since = `only ${what} from this ISO 8601 date or date-time on, or within e.g. 7d`;
  return command
    .option('--since <when>', since, moment('--since'))
    .option('--limit <n>', 'how many of the newest to show', listLimit, 100);
}

/** The filter of a store; it asks for one more than wanted, to see whether there are more. */
export function historyFilter<Outcome extends string>({ outcome, since, limit }: HistoryFlags<Outcome>) {
  return {
    ...(outcome !== undefined && { outcome }),
    ...(since !== undefined && { since }),
    limit: limit + 1,
  };
}

export interface FilterFlags {
  from?: string;
  to?: string;
  source?: string;
  status?: string;
  includeDeleted?: boolean;
}

/** Which entries of any project the flags ask for. Throws a usage failure. */
export function recordFilter(flags: FilterFlags): Omit<RecordFilter, 'org' | 'project'> {
  const { source, status, includeDeleted } = flags;
  const { from, to } = dateRange(flags);
  return {
    ...(from !== undefined && { from: utc(from) }),
    ...(to !== undefined && { to: utc(to) }),
    ...(source !== undefined && { sources: listOf('--source', source) }),
    ...(status !== undefined && { statuses: listOf('--status', status) }),
    includeDeleted: includeDeleted === true,
  };
}

/** A warning for each value in a filter that the service does not document and no entry has. */
export function unmetValues(
  { sources = [], statuses = [] }: Pick<RecordFilter, 'sources' | 'statuses'>,
  met: { sources: ReadonlySet<string>; statuses: ReadonlySet<string> },
): string[] {
  const warnings = (flag: string, asked: readonly string[], seen: ReadonlySet<string>, known: readonly string[]) =>
    asked
      .filter((value) => !seen.has(value) && !known.includes(value))
      .map((value) => `no entry matched ${flag} ${JSON.stringify(value)}; known: ${known.join(', ')}`);
  return [
    ...warnings('--source', sources, met.sources, knownSources),
    ...warnings('--status', statuses, met.statuses, knownStatuses),
  ];
}

function utc(text: string): string {
  return new Date(isoInstant(text) ?? Number.NaN).toISOString();
}

function listOf(flag: string, text: string): string[] {
  const values = text.split(',').map((value) => value.trim());
  if (values.every((value) => value !== '')) return [...new Set(values)];
  throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be values separated by commas`);
}

export const siteHelp = 'domain of a configured site';
export const projectHelp = 'id or name of a configured project, or org/project';
export const metricsHelp = 'serve GET /metrics at this address for Prometheus; without authentication';
export const noLinkHelp =
  'print no link to sign in to the console by; with console.proxy or console.oidc there is none anyway';
export const formulaSafeHelp = 'CSV: put an apostrophe before what a spreadsheet would run as a formula';

/** `--on-running`; the first way is the default. */
export function onRunning(when: string, ways: readonly [string, ...string[]]): Option {
  return new Option('--on-running <how>', when).choices(ways).default(ways[0]);
}

export function addOutAndDates(command: Command, out = 'file to write, replaced once complete; - for stdout'): Command {
  return command
    .requiredOption('--out <file>', out)
    .option('--from <date>', 'only entries created from this ISO 8601 date or date-time on')
    .option('--to <date>', 'only entries created before this ISO 8601 date or date-time');
}

export function anyOf(known: readonly string[]): string {
  return `only these, separated by commas; known: ${known.join(', ')}`;
}
