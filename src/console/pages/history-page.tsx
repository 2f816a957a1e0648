import { visible } from '../../feedback/report/figure.ts';
import { type EndedRun, type EndedRuns, endedText } from '../../operations/history.ts';
import { spanText } from '../../rules/text.ts';
import { addressWith, fieldsIn, longestSearch } from '../readings/address.ts';
import { Page } from './layout.tsx';
import {
  Choice,
  Linked,
  NamePart,
  OrganizationChoice,
  Outcome,
  Paging,
  pageOf,
  projectAddress,
  siteAddress,
  Table,
  When,
  Why,
} from './parts.tsx';

const hourMs = 3_600_000;
const usualSince = '24h';
/** What the address calls a time, in milliseconds. */
const spans: Readonly<Record<string, number>> = { '1h': hourMs, [usualSince]: 24 * hourMs, '7d': 7 * 24 * hourMs };
const spanNames = [
  ['1h', 'an hour'],
  ['7d', 'a week'],
] as const;

/** Filters in the page's address; an empty text matches all. `kind` is `export` or that of a pass, `outcome` one or `bad`. */
export function historyQuery(parameters: URLSearchParams) {
  const query = fieldsIn(parameters, ['since', 'q', 'org', 'kind', 'outcome', 'page']);
  return { ...query, since: Object.hasOwn(spans, query.since) ? query.since : '' };
}

type HistoryQuery = ReturnType<typeof historyQuery>;

/** How far back the page of a query looks, in milliseconds. */
export const sinceMsOf = ({ since }: HistoryQuery): number => spans[since || usualSince] ?? 24 * hourMs;

const addressOf = (query: HistoryQuery): string => addressWith('/history', { ...query });

interface History extends EndedRuns {
  query: HistoryQuery;
  organizations: readonly string[];
  /** Of a project, for people. */
  titleOf(org: string, project: string): string;
  /** Of a run in the Temporal UI; null where that is not known. */
  temporalOf: ((run: EndedRun) => string) | null;
}

const kindOf = ({ pass }: EndedRun): string => pass ?? 'export';

/** What ended, of all sites and projects: failed runs first, as `docferry history` lists them. */
export function HistoryPage({ query, organizations, runs, more, titleOf, temporalOf }: History) {
  const named = runs.map((run) => ({
    run,
    title: run.domain ?? (run.project === undefined ? `all projects of ${run.org}` : titleOf(run.org, run.project)),
  }));
  const found = named.filter(
    ({ run, title }) =>
      (query.org === '' || run.org === query.org) &&
      (query.kind === '' || kindOf(run) === query.kind) &&
      (query.outcome === '' || (query.outcome === 'bad' ? run.bad : run.outcome === query.outcome)) &&
      `${title}\n${run.project ?? ''}`.toLowerCase().includes(query.q),
  );
  const { page, pages, onPage } = pageOf(Number(query.page || 1), found.length);
  const some = (of: (run: EndedRun) => string) =>
    [...new Set(runs.map(of))].sort().map((value) => [value, value.replaceAll('-', ' ')] as const);
  const outcomes = [['bad', 'failed or refused'] as const, ...some(({ outcome }) => outcome)];
  return (
    <Page title="History" at="/history">
      <form class="filter" method="get" action="/history" aria-label="Filter">
        <Choice name="since" label="Within" all="a day" value={query.since} options={spanNames} />
        <OrganizationChoice value={query.org} organizations={organizations} />
        <NamePart name="q" label="Site or project" value={query.q} longest={longestSearch} />
        <Choice name="kind" label="Kind" value={query.kind} options={some(kindOf)} />
        <Choice name="outcome" label="Outcome" value={query.outcome} options={outcomes} />
        <button type="submit">Show</button>
      </form>
      <p class="under">{`${endedText(
        found.map(({ run }) => run),
        sinceMsOf(query),
      )}.`}</p>
      {more && (
        <p class="fine">More has ended: these are the newest. The page of a site or project has all of its own.</p>
      )}
      {found.length > 0 && (
        <Table
          caption="What ended: failed first, then newest first"
          look="dense ended"
          rows={onPage(found)}
          columns={[
            ['what', ({ run, title }) => <What run={run} title={title} />],
            ['kind', ({ run }) => <span class="fine">{kindOf(run)}</span>],
            ['outcome', ({ run: { outcome, bad } }) => <Outcome outcome={outcome} isBad={bad} />],
            ['ended', ({ run }) => <When at={run.finishedAt} />],
            ['took', ({ run }) => spanText(Date.parse(run.finishedAt) - Date.parse(run.startedAt))],
            ['why', ({ run: { reason } }) => reason !== null && <Reason reason={reason} />],
            temporalOf !== null && ['', ({ run }) => <Run address={temporalOf(run)} />],
          ]}
        />
      )}
      <Paging
        page={page}
        pages={pages}
        lines={found.length}
        to={(next) => addressOf({ ...query, page: String(next) })}
      />
    </Page>
  );
}

function What({ run: { org, domain, project }, title }: { run: EndedRun; title: string }) {
  const ofProject = project === undefined ? null : projectAddress(org, project);
  const address = domain === undefined ? ofProject : siteAddress(org, domain);
  return <Linked to={address} name={title} title={visible(title)} />;
}

const Reason = ({ reason }: { reason: string }) => (
  <span title={visible(reason)}>
    <Why reason={reason} />
  </span>
);

const Run = ({ address }: { address: string }) => (
  <a href={address} rel="noreferrer" title="This run in the Temporal UI">
    Temporal
  </a>
);
