import { raw } from 'hono/html';
import { isBadEnd } from '../../exports/rules/site-export.ts';
import type { Unavailable } from '../../operations/status.ts';
import { counted, countText } from '../../rules/text.ts';
import { bulkVerbs, bulkWords } from '../bulk-actions.ts';
import {
  type Chip,
  chips,
  hasChip,
  longestSearch,
  nameOf,
  type OverviewLine,
  type OverviewQuery,
  overviewAddress,
  searchText,
} from '../readings/overview-filter.ts';
import { Page } from './layout.tsx';
import {
  Aged,
  Choice,
  Foreign,
  Hidden,
  NamePart,
  Outcome,
  projectAddress,
  siteAddress,
  Troubles,
  type Viewer,
  When,
  Why,
} from './parts.tsx';

interface Shown {
  viewer: Viewer;
  lines: readonly OverviewLine[];
  /** Whether there are several organizations. */
  several: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Sites and projects, a line each. */
function OverviewTable({ viewer, lines, several, now }: Shown) {
  return (
    <div class="scroll">
      <table class="cards">
        <caption class="unseen">Sites and projects</caption>
        <thead>
          <tr>
            {viewer.mayAct && (
              <th scope="col">
                <span class="unseen">select</span>
              </th>
            )}
            <th scope="col">name</th>
            {several && <th scope="col">organization</th>}
            <th scope="col">now</th>
            <th scope="col">last</th>
            <th scope="col">in service, or complete as of</th>
            <th scope="col">next start</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Line viewer={viewer} line={line} several={several} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ viewer, line, several, now }: { viewer: Viewer; line: OverviewLine; several: boolean; now: number }) {
  const name = nameOf(line);
  const address = line.kind === 'site' ? siteAddress(line.org, name) : projectAddress(line.org, name);
  const box = `${line.kind}-${line.org}-${name}`;
  return (
    <tr>
      {viewer.mayAct && (
        <td class="select">
          <input
            type="checkbox"
            id={box}
            name={line.kind}
            value={`${line.org}/${name}`}
            aria-label={`Select ${line.title}`}
          />
        </td>
      )}
      <th scope="row">
        <a id={`to-${box}`} href={address}>
          <Foreign text={line.title} />
        </a>
        <div class="fine">{line.title === name ? line.kind : `${line.kind} ${name}`}</div>
      </th>
      {several && <td data-name="organization">{line.org}</td>}
      <td data-name="now">
        <NowText line={line} />
      </td>
      <td data-name="last">
        <LastText line={line} now={now} />
      </td>
      <td data-name={line.kind === 'site' ? 'in service' : 'complete as of'}>
        {line.kind === 'project' ? (
          <When at={line.verifiedUpTo} />
        ) : (
          (line.current ?? <span class="quiet">nothing yet</span>)
        )}
      </td>
      <td data-name="next start">{line.paused ? <span class="quiet">paused</span> : <When at={line.nextAt} />}</td>
    </tr>
  );
}

function NowText({ line }: { line: OverviewLine }) {
  const { state } = line;
  const what = line.kind === 'site' ? line.phase : line.running.join(', ');
  const held = line.kind === 'site' && line.held !== null && state !== 'held' ? ', held' : '';
  switch (state) {
    case null:
      return <span class="quiet">unknown</span>;
    case 'idle':
      return <span class="quiet">{`idle${held}`}</span>;
    case 'held':
      return <span class="state">held</span>;
    case 'awaiting-approval':
      return <span class="state wait">{`waits for approval${held}`}</span>;
    case 'unauthorized':
      return <span class="state bad">key refused</span>;
    case 'waiting':
      return <span class="state wait">{`waits for requests: ${what}`}</span>;
    case 'running':
      return <span class="state wait">{`${what?.replaceAll('-', ' ') || 'running'}${held}`}</span>;
  }
}

function LastText({ line, now }: { line: OverviewLine; now: number }) {
  if (line.lastOutcome === null) return <span class="quiet">nothing yet</span>;
  const pass = (line.kind === 'project' && line.lastPass) || '';
  // What ended since the failure need not be one: a pass of another kind, or what a person cancelled.
  const isBad = line.failingSince !== null && isBadEnd(line.lastOutcome, {});
  return (
    <>
      <Outcome outcome={line.lastOutcome} isBad={isBad} pass={pass} />
      {line.lastAt !== null && ` ${ageText(now - Date.parse(line.lastAt))}`}
      <div>
        <When at={line.lastAt} />
      </div>
      {line.lastReason !== null && (
        <div class="fine why">
          <Why reason={line.lastReason} />
        </div>
      )}
      {line.failingSince !== null && line.failingSince !== line.lastAt && (
        <div class="fine">
          failing since <When at={line.failingSince} />
        </div>
      )}
    </>
  );
}

/** `5 min ago`, `3 h ago`, `2 d ago`. */
function ageText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`;
}

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
  /** Lines under each chip; first of all lines. Null for what Temporal alone knows while it is away. */
  counts: { chip: Chip | null; count: number | null }[];
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
        <NamePart name="q" label="Name contains" value={query.search} longest={longestSearch} />
        {organizations.length > 1 && (
          <Choice name="org" label="Organization" value={query.org} options={organizations.map((org) => [org, org])} />
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
        {chip !== null && <p class="under">{meanings[chip]}</p>}
        <form method="post" action="/bulk">
          <Hidden viewer={viewer} />
          {table === null ? <NothingShown overview={overview} /> : raw(table)}
          {viewer.mayAct && table !== null && (
            <div class="bulk">
              <span class="fine">With selected:</span>
              {bulkVerbs.map((verb) => (
                <button type="submit" name="verb" value={verb}>
                  {`${bulkWords[verb].label} …`}
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
  const found = searchText(lines, query);
  const under = (chip: Chip | null) => (chip === null ? found : found.filter((line) => hasChip(line, chip, at)));
  const isUnknown = (chip: Chip | null) =>
    (chip === 'waiting' || chip === 'running') && found.some(({ state }) => state === null);
  const chosen = under(query.chip);
  const pages = Math.max(1, Math.ceil(chosen.length / linesPerPage));
  const page = Math.min(query.page, pages);
  const shown = chosen.slice((page - 1) * linesPerPage, page * linesPerPage);
  return {
    counts: [null, ...chips].map((chip) => ({ chip, count: isUnknown(chip) ? null : under(chip).length })),
    chosen: chosen.length,
    page,
    pages,
    table:
      shown.length === 0
        ? null
        : inOnePiece(
            String(<OverviewTable viewer={viewer} lines={shown} several={organizations.length > 1} now={at} />),
          ),
  };
}

/** The engine keeps a joined text as its thousands of parts, and would gather them again for each page that has it. */
const inOnePiece = (text: string): string => Buffer.from(text).toString();

const meanings: Readonly<Record<Chip, string>> = {
  failed: 'The last run failed, was refused by verification, or did not reach every target.',
  waiting: 'Sites wait for a person’s approval; projects wait for free requests of the budget.',
  running: 'An export or a pass is under way.',
  held: 'Exports go on, but put nothing into service until the hold ends.',
  stale: 'Newest entries not read, or no run finished, in the last 24 hours.',
};

function NothingShown({ overview: { lines, query } }: { overview: Overview }) {
  if (lines.length === 0) return <p class="under">No sites or projects are configured.</p>;
  return (
    <p class="under">
      {query.search === '' && query.org === '' ? 'None.' : 'No results.'} <a href="/">Show all</a>
    </p>
  );
}

function ChipLink({ query, chip, count }: { query: OverviewQuery; chip: Chip | null; count: number | null }) {
  return (
    <li>
      <a
        id={`chip-${chip ?? 'all'}`}
        href={overviewAddress({ ...query, chip, page: 1 })}
        aria-current={query.chip === chip ? 'true' : undefined}
      >
        {chip ?? 'all'} <b>{count === null ? '?' : countText(count)}</b>
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
