import { spanText } from '../../../rules/details-text.ts';
import { counted } from '../../../rules/quantities.ts';
import type { Unavailable } from '../../../operations/gather-facts.ts';
import { lineStates, type ProjectLine, type SiteLine, type Totals } from '../../../operations/status-lines.ts';
import type { Paint, Surface } from '../../terminal/output.ts';
import { tableLines } from '../../terminal/text.ts';

const good: ReadonlySet<string> = new Set(['published', 'unchanged', 'completed', 'rolled-back']);
const dayMs = 86_400_000;
/** Left out where it is too narrow for all, the first first. */
const spareColumns = ['in service', 'complete as of', 'ended (UTC)', 'next (UTC)'];

/** Everything that `status` shows. */
export interface Shown {
  sites: readonly SiteLine[];
  projects: readonly ProjectLine[];
  totals: { sites: Totals; projects: Totals };
}

/** The document of `status` (contracts.md). */
export interface Look extends Shown {
  unavailable: Unavailable[];
}

/** A line a site and a project, as far as it is wide enough for that, then the totals. */
export function statusText({ sites, projects, totals }: Shown, now: number, { paint, columns }: Surface): string {
  const several = new Set([...sites, ...projects].map(({ org }) => org)).size > 1;
  const named = (org: string, name: string) => (several ? `${org}/${name}` : name);
  const parts: string[] = [];
  if (sites.length > 0) {
    parts.push(
      tableLines(
        ['site', 'state', 'last', 'ended (UTC)', 'next (UTC)', 'in service', 'note'],
        sites.map((line) => [
          named(line.org, line.domain),
          stateText(line.phase !== null && line.state === 'running' ? line.phase : line.state, paint),
          outcomeText(line.lastOutcome, paint),
          minuteText(line.lastAt),
          line.paused ? 'paused' : minuteText(line.nextAt),
          line.current ?? '-',
          notesOf(
            line,
            paint,
            line.held === null ? [] : [line.held === line.current ? 'held' : `held at ${line.held}`],
          ),
        ]),
        columns,
        spareColumns,
      ),
    );
  }
  if (projects.length > 0) {
    parts.push(
      tableLines(
        ['project', 'state', 'last', 'ended (UTC)', 'next (UTC)', 'complete as of', 'note'],
        projects.map((line) => [
          named(line.org, line.project),
          stateText(line.state, paint) + (line.running.length === 0 ? '' : ` ${line.running.join(', ')}`),
          line.lastPass === null ? '-' : `${line.lastPass} ${outcomeText(line.lastOutcome, paint)}`,
          minuteText(line.lastAt),
          minuteText(line.nextAt),
          line.verifiedUpTo === null ? '-' : agoText(now - Date.parse(line.verifiedUpTo)),
          notesOf(line, paint, line.paused ? ['schedule paused'] : []),
        ]),
        columns,
        spareColumns,
      ),
    );
  }
  parts.push([totalText('site', totals.sites), totalText('project', totals.projects)].join('\n'));
  return parts.join('\n\n');
}

/** `1,000 sites: 3 running, 990 idle, 2 failing` */
export function totalText(what: string, totals: Totals): string {
  const counts = lineStates.flatMap((state) => (totals[state] > 0 ? [`${totals[state]} ${state}`] : []));
  const failing = totals.failing > 0 ? [`${totals.failing} failing`] : [];
  const all = [...counts, ...failing].join(', ');
  return `${counted(totals.all, what)}${all === '' ? '' : `: ${all}`}`;
}

function stateText(state: string | null, paint: Paint): string {
  if (state === null) return '?';
  if (state === 'idle') return state;
  return state === 'unauthorized' ? paint.red(state) : paint.yellow(state);
}

function outcomeText(outcome: string | null, paint: Paint): string {
  if (outcome === null) return '-';
  return good.has(outcome) || outcome === 'cancelled' ? outcome : paint.red(outcome);
}

function notesOf({ failingSince }: SiteLine | ProjectLine, paint: Paint, others: readonly string[]): string {
  const failing = failingSince === null ? [] : [paint.red(`failing since ${minuteText(failingSince)}`)];
  return [...failing, ...others].join(', ');
}

/** `2026-11-21 04:02` */
function minuteText(iso: string | null): string {
  return iso === null ? '-' : iso.slice(0, 16).replace('T', ' ');
}

function agoText(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000) * 60_000;
  return ms >= 2 * dayMs ? `${Math.floor(ms / dayMs)} days ago` : `${spanText(minutes)} ago`;
}
