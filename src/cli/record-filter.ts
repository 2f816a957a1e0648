import type { RecordFilter } from '../feedback/files/feedback-record.ts';
import { isoInstant } from '../rules/iso-instant.ts';
import { knownSources, knownStatuses } from '../feedback/rules/feedback-values.ts';
import { usageFailure } from './cli-failure.ts';
import { dateRange } from './date-range.ts';

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
