import { raw } from 'hono/html';
import { counted, countText } from '../../model/quantities.ts';
import type { Unavailable } from '../../overview/gather-facts.ts';
import { bulkLabels, bulkVerbs } from '../actions/bulk-actions.ts';
import {
  type Chip,
  chips,
  foundLines,
  hasChip,
  type OverviewLine,
  type OverviewQuery,
  overviewAddress,
} from '../readings/overview-filter.ts';
import { Page } from './layout.tsx';
import { OverviewTable } from './overview-table.tsx';
import { Aged, Hidden, Troubles } from './parts.tsx';
import type { Viewer } from './viewer.ts';

interface Overview {
  viewer: Viewer;
  query: OverviewQuery;
  lines: readonly OverviewLine[];
  organizations: readonly string[];
  unavailable: readonly Unavailable[];
  at: number;
  late: boolean;
  /** The same table is written once for everybody. */
  written: WrittenTables;
}

/** Tables of one reading, by what was asked of it. */
export type WrittenTables = Map<string, WrittenTable>;

interface WrittenTable {
  /** Lines under each chip; first of all lines. */
  counts: { chip: Chip | null; count: number }[];
  chosen: number;
  page: number;
  pages: number;
  /** Null for a table without lines. */
  table: string | null;
}

const mostWritten = 50;
const linesPerPage = 200;

/** All sites and projects in one table. */
export function OverviewPage(overview: Overview) {
  const { viewer, query, organizations, unavailable, at, late } = overview;
  const { chip } = query;
  const { counts, chosen, page, pages, table } = writtenTable(overview);
  return (
    <Page title="Overview" viewer={viewer} at="/" events="/events?of=overview">
      <form class="filter" method="get" action="/">
        <div class="field">
          <label for="q">Name contains</label>
          <input id="q" name="q" type="search" value={query.search} maxlength={200} />
        </div>
        {organizations.length > 1 && (
          <div class="field">
            <label for="org">Organization</label>
            <select id="org" name="org">
              <option value="">all</option>
              {organizations.map((org) => (
                <option value={org} selected={org === query.org}>
                  {org}
                </option>
              ))}
            </select>
          </div>
        )}
        {chip !== null && <input type="hidden" name="is" value={chip} />}
        <button type="submit">Search</button>
      </form>
      <div id="overview" data-live>
        <Aged at={at} late={late} />
        <Troubles troubles={unavailable} />
        <nav aria-label="Filters">
          <ul class="chips">
            {counts.map((one) => (
              <ChipLink query={query} chip={one.chip} count={one.count} />
            ))}
          </ul>
        </nav>
        <form method="post" action="/bulk">
          <Hidden viewer={viewer} />
          {table === null ? <p class="under">Nothing matches the chips and the search.</p> : raw(table)}
          {viewer.mayAct && table !== null && (
            <div class="bulk">
              <span class="fine">The selected ones:</span>
              {bulkVerbs.map((verb) => (
                <button type="submit" name="verb" value={verb}>
                  {`${bulkLabels[verb]} …`}
                </button>
              ))}
            </div>
          )}
        </form>
        <Pages query={query} page={page} pages={pages} count={chosen} />
      </div>
    </Page>
  );
}

function writtenTable(overview: Overview): WrittenTable {
  const { viewer, query, at, written } = overview;
  const key = JSON.stringify([query, viewer.mayAct, Math.floor(at / 60_000)]);
  const before = written.get(key);
  if (before !== undefined) return before;
  if (written.size >= mostWritten) written.clear();
  const table = writeTable(overview);
  written.set(key, table);
  return table;
}

function writeTable({ viewer, query, lines, organizations, at }: Overview): WrittenTable {
  const found = foundLines(lines, query);
  const under = (chip: Chip | null) => (chip === null ? found : found.filter((line) => hasChip(line, chip, at)));
  const chosen = under(query.chip);
  const pages = Math.max(1, Math.ceil(chosen.length / linesPerPage));
  const page = Math.min(query.page, pages);
  const shown = chosen.slice((page - 1) * linesPerPage, page * linesPerPage);
  return {
    counts: [null, ...chips].map((chip) => ({ chip, count: under(chip).length })),
    chosen: chosen.length,
    page,
    pages,
    table:
      shown.length === 0
        ? null
        : String(<OverviewTable viewer={viewer} lines={shown} several={organizations.length > 1} now={at} />),
  };
}

function ChipLink({ query, chip, count }: { query: OverviewQuery; chip: OverviewQuery['chip']; count: number }) {
  return (
    <li>
      <a
        id={`chip-${chip ?? 'all'}`}
        href={overviewAddress({ ...query, chip, page: 1 })}
        aria-current={query.chip === chip ? 'true' : undefined}
      >
        {chip ?? 'all'} <b>{countText(count)}</b>
      </a>
    </li>
  );
}

function Pages({ query, page, pages, count }: { query: OverviewQuery; page: number; pages: number; count: number }) {
  if (pages === 1) return null;
  return (
    <nav aria-label="Pages">
      <ul class="chips">
        {page > 1 && (
          <li>
            <a id="page-before" href={overviewAddress({ ...query, page: page - 1 })}>
              Previous page
            </a>
          </li>
        )}
        {page < pages && (
          <li>
            <a id="page-after" href={overviewAddress({ ...query, page: page + 1 })}>
              Next page
            </a>
          </li>
        )}
      </ul>
      <p class="fine">{`Page ${page} of ${pages}: ${counted(count, 'line')}`}</p>
    </nav>
  );
}
