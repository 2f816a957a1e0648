import { isBadEnd } from '../../exports/rules/site-export.ts';
import { visible } from '../../feedback/report/figure.ts';
import type { Unavailable } from '../../operations/status.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import { countText } from '../../rules/text.ts';
import { bulkVerbs, bulkWords } from '../actions.ts';
import { longestSearch } from '../readings/address.ts';
import {
  type Chip,
  type Concern,
  chips,
  concernsOf,
  hasChip,
  healthOf,
  type LineHealth,
  nameOf,
  type OverviewLine,
  type OverviewQuery,
  overviewAddress,
  overviewQuery,
  type Sort,
  searchText,
  sorted,
} from '../readings/overview-filter.ts';
import { Page } from './layout.tsx';
import {
  Act,
  BulkBar,
  Chips,
  Foreign,
  Health,
  type HealthLook,
  NamePart,
  OrganizationChoice,
  Outcome,
  Paging,
  pageOf,
  projectAddress,
  siteAddress,
  Table,
  Troubles,
  Version,
  When,
  Why,
  Written,
} from './parts.tsx';

const looks: Readonly<Record<LineHealth, HealthLook>> = {
  failing: 'bad',
  'key refused': 'bad',
  'waits for approval': 'wait',
  drifted: 'drift',
  stale: 'stale',
  held: 'held',
  'waits for requests': 'wait',
  running: 'run',
  'no run yet': 'none',
  healthy: 'good',
};

const addressOf = (line: OverviewLine): string =>
  line.kind === 'site' ? siteAddress(line.org, line.domain) : projectAddress(line.org, line.project);

interface Overview {
  mayAct: boolean;
  query: OverviewQuery;
  lines: readonly OverviewLine[];
  organizations: readonly string[];
  unavailable: readonly Unavailable[];
}

/** Rendered tables of one reading, by query. */
export type WrittenTables = Map<string, WrittenTable>;

interface WrittenTable {
  concerns: Concern[];
  /** Lines under each chip; first of all lines. Null for what Temporal alone knows while it is away. */
  counts: { chip: Chip | null; count: number | null }[];
  chosen: number;
  page: number;
  pages: number;
  /** HTML; null without lines. */
  tables: Uint8Array | null;
}

const mostWritten = 50;
/** Cards shown unfolded: one line of them on a laptop. */
const shownConcerns = 4;
/** More reasons than these nobody reads one by one; the chips lead to them all. */
const mostConcerns = 50;

/** What needs a person, then all sites and projects: the bytes of `table` go into the place that the page leaves. */
export function OverviewPage({ table, ...overview }: Overview & { table: WrittenTable }) {
  const { query, lines, organizations, unavailable } = overview;
  const { chip, sort, reversed, grouped } = query;
  const { concerns, counts, chosen, page, pages, tables } = table;
  const kept = { is: chip, sort: sort && `${reversed ? '-' : ''}${sort}`, group: grouped ? 'org' : null };
  const to = (change: Partial<OverviewQuery>) => overviewAddress({ ...query, page: 1, ...change });
  return (
    <Page title="Overview" at="/" events="/events?of=overview">
      <form class="filter beside" method="get" action="/">
        <NamePart name="q" label="Name contains" value={query.search} longest={longestSearch} />
        <OrganizationChoice value={query.org} organizations={organizations} />
        {Object.entries(kept).map(([name, value]) => value && <input type="hidden" name={name} value={value} />)}
        <button type="submit">Search</button>
      </form>
      <div id="overview" data-live>
        <Troubles troubles={unavailable} />
        {chip === null && <Concerns concerns={concerns} />}
        <div class="row">
          <Chips
            label="Filters"
            links={counts.map((one) => ({
              id: `chip-${one.chip ?? 'all'}`,
              href: to({ chip: one.chip }),
              isShown: chip === one.chip,
              text: (
                <>
                  {one.chip ?? 'all'} <b>{one.count === null ? '?' : countText(one.count)}</b>
                </>
              ),
            }))}
          />
          {organizations.length > 1 && (
            <a id="group" href={to({ grouped: !grouped })}>
              {grouped ? 'Do not group' : 'Group by organization'}
            </a>
          )}
          {sort !== null && (
            <a id="worst" href={to({ sort: null, reversed: false })}>
              Worst first
            </a>
          )}
          {chip !== null && <span class="quiet">{meanings[chip]}</span>}
        </div>
        <div class="bulk-of">
          {tables === null ? <NothingShown query={query} isEmpty={lines.length === 0} /> : <Written />}
          <BulkBar verbs={bulkVerbs.map((verb) => [verb, bulkWords[verb].label])} />
        </div>
        <Paging page={page} pages={pages} lines={chosen} to={(next) => to({ page: next })} />
      </div>
    </Page>
  );
}

/** A card for each reason, with what can be done. */
function Concerns({ concerns }: { concerns: readonly Concern[] }) {
  if (concerns.length === 0) return null;
  const cards = concerns.slice(0, mostConcerns).map((concern) => <Card concern={concern} />);
  return (
    <section aria-label="Needs a person" class="concerns">
      <ul class="deck">{cards.slice(0, shownConcerns)}</ul>
      {cards.length > shownConcerns && (
        <details id="more-concerns">
          <summary>{`${countText(concerns.length - shownConcerns)} more`}</summary>
          <ul class="deck">{cards.slice(shownConcerns)}</ul>
          {concerns.length > mostConcerns && <p class="fine">{`The worst ${mostConcerns} are shown.`}</p>}
        </details>
      )}
    </section>
  );
}

const chipOf: Partial<Record<LineHealth, Chip>> = { failing: 'failed', drifted: 'drifted', stale: 'stale' };

function Card({ concern: { health, lines, reason, since } }: { concern: Concern }) {
  const [line] = lines;
  if (line === undefined) return null;
  const address = addressOf(line);
  const id = `card-${line.kind}-${line.org}-${nameOf(line)}`;
  return (
    <li class={looks[health]}>
      <p>
        <Health look={looks[health]} text={health} />
        <a id={id} href={address} title={line.title}>
          <Foreign text={line.title} />
        </a>
        {lines.length > 1 && ` and ${countText(lines.length - 1)} more`}
      </p>
      <p class="why" title={visible(reason)}>
        {reason === '' ? health : <Why reason={reason} />}
      </p>
      <div class="row">
        <span class="fine">
          {since !== null && (
            <>
              {`${health} `}
              <When at={since} lasting />
            </>
          )}
        </span>
        {lines.length > 1 ? (
          <a class="button small" href={overviewAddress({ ...noQuery, chip: chipOf[health] ?? 'waiting' })}>
            Show all
          </a>
        ) : health === 'waits for approval' ? (
          <a class="button small" href={address}>
            Review
          </a>
        ) : health === 'key refused' ? (
          <a class="button small" href="/budget">
            Budget
          </a>
        ) : (
          <Act
            action={`${address}/${line.kind === 'site' ? 'start' : 'sync'}`}
            label={line.kind === 'site' ? 'Export again' : 'Sync now'}
            small
          />
        )}
      </div>
    </li>
  );
}

const noQuery = overviewQuery(new URLSearchParams());

/** The tables of the query, rendered once for all readers of the same state. */
export function writtenTable(overview: Overview, written: WrittenTables): WrittenTable {
  const { mayAct, query } = overview;
  const key = JSON.stringify([query, mayAct]);
  const before = written.get(key);
  if (before !== undefined) return before;
  if (written.size >= mostWritten) written.clear();
  const table = writeTable(overview);
  written.set(key, table);
  return table;
}

function writeTable({ mayAct, query, lines, organizations }: Overview): WrittenTable {
  const found = searchText(lines, query);
  const under = (chip: Chip | null) => (chip === null ? found : found.filter((line) => hasChip(line, chip)));
  const isUnknown = (chip: Chip | null) =>
    (chip === 'waiting' || chip === 'running') && found.some(({ state }) => state === null);
  const chosen = sorted(under(query.chip), query);
  const sites = chosen.filter((line) => line.kind === 'site');
  const projects = chosen.filter((line) => line.kind === 'project');
  const { page, pages, onPage } = pageOf(query.page, Math.max(sites.length, projects.length));
  const shown = { mayAct, query, several: organizations.length > 1 && !query.grouped };
  return {
    concerns: concernsOf(found),
    counts: [null, ...chips].map((chip) => ({ chip, count: isUnknown(chip) ? null : under(chip).length })),
    chosen: chosen.length,
    page,
    pages,
    tables:
      chosen.length === 0
        ? null
        : Buffer.from(
            String(
              <div class="pair">
                <Lines {...shown} name="Sites" all={sites.length} lines={onPage(sites)} />
                <Lines {...shown} name="Projects" all={projects.length} lines={onPage(projects)} />
              </div>,
            ),
          ),
  };
}

interface Shown {
  mayAct: boolean;
  query: OverviewQuery;
  /** Whether to show the organization beside a project's name, which does not contain it. */
  several: boolean;
  name: 'Sites' | 'Projects';
  all: number;
  lines: readonly OverviewLine[];
}

/** Sites or projects, one line each. */
function Lines({ mayAct, query, several, name, all, lines }: Shown) {
  if (lines.length === 0) return null;
  const head = (sort: Sort, text: string) => <SortLink query={query} sort={sort} text={text} of={name} />;
  return (
    <section id={name.toLowerCase()} aria-label={name}>
      <Table
        caption={name}
        look={query.chip === null ? 'dense' : 'dense told'}
        rows={lines}
        tick={mayAct ? (line) => ({ name: line.kind, value: `${line.org}/${nameOf(line)}`, label: line.title }) : null}
        groupOf={query.grouped ? (line) => line.org : null}
        columns={[
          [
            'name',
            (line) => <Name line={line} several={several} />,
            <>
              {head('name', name.toLowerCase())} {countText(all)}
            </>,
          ],
          ['status', (line) => <Status line={line} />, head('last', 'status')],
          name === 'Sites'
            ? ['in service', (line) => line.kind === 'site' && <InService line={line} />]
            : ['complete as of', (line) => line.kind === 'project' && <When at={line.verifiedUpTo} />],
          name === 'Sites' && [
            'next',
            (line) => (line.paused ? <span class="quiet">paused</span> : <When at={line.nextAt} />),
            head('next', 'next'),
          ],
        ]}
      />
    </section>
  );
}

function SortLink({ query, sort, text, of }: { query: OverviewQuery; sort: Sort; text: string; of: string }) {
  const isBy = query.sort === sort;
  const reversed = isBy && !query.reversed;
  return (
    <a id={`sort-${of}-${sort}`} href={overviewAddress({ ...query, sort, reversed, page: 1 })}>
      {text}
      {isBy && (query.reversed ? ' ↑' : ' ↓')}
    </a>
  );
}

function Name({ line, several }: { line: OverviewLine; several: boolean }) {
  const health = healthOf(line);
  return (
    <>
      <Health look={looks[health]} text={health} />
      <a id={`to-${line.kind}-${line.org}-${nameOf(line)}`} href={addressOf(line)} title={visible(line.title)}>
        <Foreign text={line.title} />
      </a>
      {several && line.kind === 'project' && <span class="fine">{` ${line.org}`}</span>}
    </>
  );
}

function InService({ line }: { line: OverviewLine & { kind: 'site' } }) {
  return (
    <>
      <Version name={line.current} />
      {line.held !== null && <span class="fine"> held</span>}
      {line.drift?.current === line.current && <span class="fine"> drifted</span>}
    </>
  );
}

/** What it does; else how the last run ended, when, and why. */
function Status({ line }: { line: OverviewLine }) {
  const { lastOutcome, lastAt, lastReason, failingSince } = line;
  const doing = doingText(line);
  if (doing !== null) return <span class="state wait">{doing}</span>;
  // The run that ended last need not be the one that failed: it may be another kind of pass, or cancelled by a person.
  const isBad = failingSince !== null && lastOutcome !== null && isBadEnd(lastOutcome, {});
  return (
    <span title={lastReason === null ? undefined : visible(withoutFailureType(lastReason))}>
      {lastOutcome === null ? <Unended line={line} /> : <Outcome outcome={lastOutcome} isBad={isBad} />}
      {lastAt !== null && (
        <>
          {' '}
          <When at={lastAt} />
        </>
      )}
      {line.kind === 'project' && <span class="fine">{` ${line.lastPass ?? ''}`}</span>}
      {lastReason !== null && (
        <span class="fine">
          {' '}
          <Why reason={lastReason} />
        </span>
      )}
    </span>
  );
}

/** No run has ended. The first reading of a project may take days. */
function Unended({ line }: { line: OverviewLine }) {
  const isRead = line.kind === 'project' && (line.firstReading || line.newestReadAt !== null);
  return <span class="quiet">{isRead ? 'first reading' : 'not run yet'}</span>;
}

/** Null for nothing. */
function doingText(line: OverviewLine): string | null {
  const what = line.kind === 'site' ? line.phase?.replaceAll('-', ' ') : line.running.join(', ');
  switch (line.state) {
    case 'awaiting-approval':
      return 'waits for approval';
    case 'unauthorized':
      return 'key refused';
    case 'waiting':
      return `waits for requests: ${what}`;
    case 'running':
      return what || 'running';
    default:
      return null;
  }
}

const meanings: Readonly<Record<Chip, string>> = {
  failed: 'The last run failed, was refused by verification, or did not reach every target.',
  waiting: 'Sites wait for a person’s approval; projects wait for free requests of the budget.',
  drifted: 'A target does not run the version that was put there.',
  running: 'An export or a pass is under way.',
  held: 'Exports go on, but put nothing into service until the hold ends.',
  stale:
    'The newest entries were not read within “freshness” (a day unless configured), or no run ended within “lateAfter”.',
};

function NothingShown({ query: { search, org }, isEmpty }: { query: OverviewQuery; isEmpty: boolean }) {
  if (isEmpty) return <p class="under">No sites or projects are configured.</p>;
  return (
    <p class="under">
      {search === '' && org === '' ? 'None.' : 'No results.'} <a href="/">Show all</a>
    </p>
  );
}
