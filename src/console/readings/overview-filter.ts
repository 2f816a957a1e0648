import type { ProjectLine, SiteLine } from '../../operations/status.ts';

/** What the address of the overview says. */
export interface OverviewQuery {
  chip: Chip | null;
  /** Part of a name, in lower case; empty for all. */
  search: string;
  /** Empty for all. */
  org: string;
  /** From 1 on. */
  page: number;
}

export const chips = ['failed', 'waiting', 'running', 'held', 'stale'] as const;
export type Chip = (typeof chips)[number];

/** A site or project of the overview. */
export type OverviewLine = (({ kind: 'site' } & SiteLine) | ({ kind: 'project' } & ProjectLine)) & {
  /** As people call it. */
  title: string;
};

/** Characters. */
export const longestSearch = 200;
const dayMs = 86_400_000;

/** What an address asks for; malformed parts are ignored. */
export function overviewQuery(parameters: URLSearchParams): OverviewQuery {
  const page = Number(parameters.get('page') ?? '1');
  return {
    chip: chips.find((chip) => chip === parameters.get('is')) ?? null,
    search: (parameters.get('q') ?? '').trim().toLowerCase().slice(0, longestSearch),
    org: parameters.get('org') ?? '',
    page: Number.isInteger(page) && page >= 1 && page < 1e6 ? page : 1,
  };
}

/** The address of what a query asks for. */
export function overviewAddress({ chip, search, org, page }: OverviewQuery): string {
  const parameters = new URLSearchParams({
    ...(chip !== null && { is: chip }),
    ...(search !== '' && { q: search }),
    ...(org !== '' && { org }),
    ...(page > 1 && { page: String(page) }),
  });
  return parameters.size === 0 ? '/' : `/?${parameters}`;
}

/** What search and organization leave. */
export function searchText(lines: readonly OverviewLine[], { search, org }: OverviewQuery): OverviewLine[] {
  return lines.filter(
    (line) =>
      (org === '' || line.org === org) &&
      (search === '' || `${line.title}\n${nameOf(line)}`.toLowerCase().includes(search)),
  );
}

/** Whether a line belongs under a chip at a moment, in milliseconds. */
export function hasChip(line: OverviewLine, chip: Chip, now: number): boolean {
  switch (chip) {
    case 'failed':
      return line.failingSince !== null;
    case 'waiting':
      return line.state === 'awaiting-approval' || line.state === 'waiting' || line.state === 'unauthorized';
    case 'running':
      return line.state === 'running';
    case 'held':
      return line.kind === 'site' && line.held !== null;
    case 'stale':
      return isStale(line, now);
  }
}

/** A project whose newest entries were not read within a day, or a scheduled site without a run that ended within a day. */
function isStale(line: OverviewLine, now: number): boolean {
  const since = new Date(now - dayMs).toISOString();
  if (line.kind === 'project') return (line.newestReadAt ?? '') < since && (line.lastAt ?? '') < since;
  return line.nextAt !== null && (line.lastAt ?? '') < since;
}

export const nameOf = (line: OverviewLine): string => (line.kind === 'site' ? line.domain : line.project);
