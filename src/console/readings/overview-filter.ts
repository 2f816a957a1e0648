import type { ProjectLine, SiteLine } from '../../operations/status.ts';
import { naturalOrder } from '../../rules/text.ts';
import { addressWith, pageIn, searchIn } from './address.ts';

/** Filters and order in the overview's address. */
export interface OverviewQuery {
  chip: Chip | null;
  /** Part of a name, in lower case; empty for all. */
  search: string;
  /** Empty for all. */
  org: string;
  /** Null: worst first. */
  sort: Sort | null;
  /** Against the usual direction. */
  reversed: boolean;
  /** By organization. */
  grouped: boolean;
  /** From 1 on. */
  page: number;
}

export const chips = ['failed', 'waiting', 'drifted', 'running', 'held', 'stale'] as const;
export type Chip = (typeof chips)[number];
const sorts = ['name', 'last', 'next'] as const;
export type Sort = (typeof sorts)[number];

/** A site or project of the overview. */
export type OverviewLine = (({ kind: 'site' } & SiteLine) | ({ kind: 'project' } & ProjectLine)) & {
  /** As people call it. */
  title: string;
  /** When the current run began, UTC ISO 8601; null if none is running. */
  startedAt: string | null;
  drift: Drift | null;
};

/** A target runs another version than was rolled out to it last. */
export interface Drift {
  /** The version in service when the drift was seen. */
  current: string;
  reason: string;
  /** UTC ISO 8601. */
  since: string;
}

/** What an address asks for; malformed parts are ignored. */
export function overviewQuery(parameters: URLSearchParams): OverviewQuery {
  const sort = parameters.get('sort') ?? '';
  return {
    chip: chips.find((chip) => chip === parameters.get('is')) ?? null,
    search: searchIn(parameters),
    org: parameters.get('org') ?? '',
    sort: sorts.find((one) => one === sort.replace(/^-/, '')) ?? null,
    reversed: /^-(name|last|next)$/.test(sort),
    grouped: parameters.get('group') === 'org',
    page: Number(pageIn(parameters) || 1),
  };
}

/** The address of what a query asks for. */
export function overviewAddress({ chip, search, org, sort, reversed, grouped, page }: OverviewQuery): string {
  return addressWith('/', {
    is: chip ?? '',
    q: search,
    org,
    sort: sort === null ? '' : `${reversed ? '-' : ''}${sort}`,
    group: grouped ? 'org' : '',
    page: page > 1 ? String(page) : '',
  });
}

/** The lines that match search and organization. */
export function searchText(
  lines: readonly OverviewLine[],
  { search, org }: Pick<OverviewQuery, 'search' | 'org'>,
): OverviewLine[] {
  return lines.filter(
    (line) =>
      (org === '' || line.org === org) &&
      (search === '' || `${line.title}\n${nameOf(line)}`.toLowerCase().includes(search)),
  );
}

/** Sorted as the query says; without `sort`, worst first. */
export function sorted(lines: readonly OverviewLine[], { sort, reversed, grouped }: OverviewQuery): OverviewLine[] {
  const rank = (line: OverviewLine) => worst.indexOf(healthOf(line));
  const newest = (a: string | null, b: string | null) => ((a ?? '') < (b ?? '') ? 1 : (a ?? '') > (b ?? '') ? -1 : 0);
  const compare: Record<Sort | 'worst', (a: OverviewLine, b: OverviewLine) => number> = {
    worst: (a, b) => rank(a) - rank(b),
    name: (a, b) => naturalOrder(a.title, b.title),
    last: (a, b) => newest(a.lastAt, b.lastAt),
    next: (a, b) => newest(b.nextAt ?? '~', a.nextAt ?? '~'),
  };
  const by = compare[sort ?? 'worst'];
  const group = (a: OverviewLine, b: OverviewLine) => (grouped ? naturalOrder(a.org, b.org) : 0);
  return [...lines].sort((a, b) => group(a, b) || (reversed ? by(b, a) : by(a, b)));
}

/** Kinds of health, worst first; a line has the first that fits. */
const worst = [
  'key refused',
  'failing',
  'waits for approval',
  'drifted',
  'stale',
  'held',
  'waits for requests',
  'running',
  'no run yet',
  'healthy',
] as const;
export type LineHealth = (typeof worst)[number];

export function healthOf(line: OverviewLine): LineHealth {
  if (line.failingSince !== null) return 'failing';
  if (line.state === 'unauthorized') return 'key refused';
  if (line.state === 'awaiting-approval') return 'waits for approval';
  if (hasChip(line, 'drifted')) return 'drifted';
  if (line.state === 'running') return 'running';
  if (line.staleSince !== null) return 'stale';
  if (line.kind === 'site' && line.held !== null) return 'held';
  if (line.state === 'waiting') return 'waits for requests';
  return line.lastOutcome === null ? 'no run yet' : 'healthy';
}

/** Whether a line belongs under a chip. */
export function hasChip(line: OverviewLine, chip: Chip): boolean {
  switch (chip) {
    case 'failed':
      return line.failingSince !== null;
    case 'waiting':
      return line.state === 'awaiting-approval' || line.state === 'waiting' || line.state === 'unauthorized';
    case 'drifted':
      return line.kind === 'site' && line.drift !== null && line.drift.current === line.current;
    case 'running':
      return line.state === 'running';
    case 'held':
      return line.kind === 'site' && line.held !== null;
    case 'stale':
      return line.staleSince !== null;
  }
}

/** Lines that need a person for the same reason. */
export interface Concern {
  health: LineHealth;
  lines: readonly OverviewLine[];
  /** Empty if the health says enough. */
  reason: string;
  /** When the oldest began, UTC ISO 8601; null if unknown. */
  since: string | null;
}

/** Lines that need a person, grouped by reason: one of each kind of health before a second one, decisions first. */
export function concernsOf(all: readonly OverviewLine[]): Concern[] {
  const found = new Map<string, Concern & { lines: OverviewLine[] }>();
  for (const line of all) {
    const health = healthOf(line);
    const why = whyOf(line, health);
    if (why === null) continue;
    const key = JSON.stringify([health, line.kind, why.reason]);
    const before = found.get(key);
    const lines = before?.lines ?? [];
    lines.push(line);
    const since = [before?.since, why.since].filter((at) => typeof at === 'string').sort()[0] ?? null;
    found.set(key, { health, lines, reason: why.reason, since });
  }
  const rank = ({ health }: Concern) => (health === 'waits for approval' ? -1 : worst.indexOf(health));
  const before = new Map<LineHealth, number>();
  return [...found.values()]
    .map((concern) => {
      const nth = before.get(concern.health) ?? 0;
      before.set(concern.health, nth + 1);
      return { concern, nth };
    })
    .sort((a, b) => a.nth - b.nth || rank(a.concern) - rank(b.concern))
    .map(({ concern }) => concern);
}

/** Null if the line needs nobody. */
function whyOf(line: OverviewLine, health: LineHealth): { reason: string; since: string | null } | null {
  switch (health) {
    case 'failing':
      return { reason: line.lastReason ?? '', since: line.failingSince };
    case 'key refused':
      return {
        reason: `the service refuses the API key of ${line.org}; put a working one into place and run \`docferry doctor --key\``,
        since: line.startedAt,
      };
    case 'waits for approval':
      return { reason: 'a new version waits for a decision', since: line.startedAt };
    case 'drifted':
      return { reason: line.drift?.reason ?? '', since: line.drift?.since ?? null };
    case 'stale':
      return line.kind === 'project'
        ? { reason: 'its newest entries were not read within “freshness”', since: line.staleSince }
        : { reason: 'no run has ended within “lateAfter”', since: line.staleSince };
    default:
      return null;
  }
}

export const nameOf = (line: OverviewLine): string => (line.kind === 'site' ? line.domain : line.project);
