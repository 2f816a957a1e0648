import { raw } from 'hono/html';
import { shortened, visible } from '../../feedback/report/figure.ts';
import type { DocumentAnswer, IndexProgress, SearchAnswer } from '../../feedback/search/feedback-search.ts';
import { counted, countText, pagePath } from '../../rules/text.ts';
import { type FeedbackQuery, feedbackAddress, utcOf } from '../readings/feedback-query.ts';
import { documentAddress, FeedbackFilter, type FilterChoices } from './feedback-filter.tsx';
import { Hits, projectNames } from './feedback-hits.tsx';
import { Page } from './layout.tsx';
import { Aged, Foreign, type Viewer, When } from './parts.tsx';

interface Documents {
  query: FeedbackQuery;
  found: DocumentAnswer;
  choices: FilterChoices;
}

/** The hits by document, documents with the most hits first. */
function DocumentTable({ query, found: { documents, total, more }, choices }: Documents) {
  if (documents.length === 0) return null;
  const names = projectNames(choices);
  const several = names.size > 1;
  return (
    <>
      {!total.isExact && <p class="fine">{`Counts cover the newest ${countText(total.count)}.`}</p>}
      <div class="scroll">
        <table class="cards">
          <caption class="unseen">Pages</caption>
          <thead>
            <tr>
              <th scope="col">page</th>
              {several && <th scope="col">project</th>}
              <th scope="col">entries</th>
              <th scope="col">helpful</th>
              <th scope="col">not helpful</th>
              <th scope="col">latest</th>
            </tr>
          </thead>
          <tbody>
            {documents.map(({ project, document, entries, helpful, latest }) => (
              <tr>
                <th scope="row">
                  <DocumentLink query={{ ...query, project, all: 'yes' }} document={document} />
                </th>
                {several && (
                  <td data-name="project">
                    <Foreign text={names.get(project) ?? project} />
                  </td>
                )}
                <td data-name="entries">{countText(entries)}</td>
                <td data-name="helpful">{countText(helpful.yes)}</td>
                <td data-name="not helpful">
                  <Complaints query={{ ...query, project }} document={document} count={helpful.no} />
                </td>
                <td data-name="latest">
                  <When at={latest} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more > 0 && <p class="fine">{`${counted(more, 'page')} with fewer entries not shown. Narrow the search.`}</p>}
    </>
  );
}

/** How many votes against a document, with the way to them. */
function Complaints({ query, document, count }: { query: FeedbackQuery; document: string; count: number }) {
  const text = countText(count);
  const address = count === 0 ? null : documentAddress({ ...query, helpful: 'no', all: 'yes' }, document);
  if (address === null) return text;
  return (
    <a href={address} aria-label={`${text} not helpful: ${visible(shortened(pagePath(document), 200))}`}>
      {text}
    </a>
  );
}

function DocumentLink({ query, document }: { query: FeedbackQuery; document: string }) {
  const address = documentAddress(query, document);
  const name = <Foreign text={shortened(pagePath(document), 200)} />;
  return address === null ? name : <a href={address}>{name}</a>;
}

interface Feedback {
  viewer: Viewer;
  query: FeedbackQuery;
  choices: FilterChoices;
  /** What was found: entries, or what each document has. */
  found: SearchAnswer | DocumentAnswer;
  /** The figure of one page over time, when one is asked for; null for none. */
  trend: string | null;
  /** When this login last looked, UTC ISO 8601; null when that is not known. */
  lastVisit: string | null;
  /** Most entries in a file. */
  mostInFile: number;
  at: number;
  late: boolean;
}

/** Feedback of readers and agents that matches the query. */
export function FeedbackPage({ viewer, query, choices, found, trend, lastVisit, mostInFile, at, late }: Feedback) {
  const { total, index } = found;
  return (
    <Page title="Feedback" viewer={viewer} at="/feedback">
      <SavedSearches query={query} />
      <FeedbackFilter query={query} choices={choices} />
      <Aged at={at} late={late} />
      <Unready index={index} />
      <Views query={query} lastVisit={lastVisit} />
      <p class="under" role="status">
        {total.count === 0
          ? nothingText(query)
          : `${total.isExact ? '' : 'More than '}${counted(total.count, 'entry', 'entries')}${'documents' in found ? ' by page' : ', newest first'}.`}
      </p>
      {trend !== null && raw(trend)}
      {'documents' in found ? (
        <DocumentTable query={query} found={found} choices={choices} />
      ) : (
        <>
          <Hits found={found} choices={choices} />
          <Pages query={query} after={found.after} />
        </>
      )}
      {total.count > 0 && (
        <Files query={query} mayExceed={!total.isExact || total.count > mostInFile} most={mostInFile} />
      )}
    </Page>
  );
}

/** Without words and filters nothing is stored at all. */
function nothingText({ all, by, ...narrowed }: FeedbackQuery) {
  if (Object.values(narrowed).some((one) => one !== '')) return 'No results. Try fewer words or clear the filters.';
  return all === '' && by === ''
    ? 'No comments and code are stored yet. Entries without words may be.'
    : 'No feedback is stored yet: a sync of a project reads it.';
}

/** Searches that many need; every search is its address. */
const usual: readonly (readonly [text: string, query: Partial<FeedbackQuery>])[] = [
  ['complaints', { helpful: 'no' }],
  ['open', { status: 'open' }],
  ['by agents', { source: 'agent' }],
  ['on code', { source: 'code_snippet' }],
  ['worst pages', { by: 'document', helpful: 'no' }],
];

function SavedSearches({ query }: { query: FeedbackQuery }) {
  return (
    <nav aria-label="Saved searches">
      <ul class="chips">
        {usual.map(([text, asked]) => {
          const address = feedbackAddress(asked);
          return (
            <li>
              <a href={address} aria-current={address === feedbackAddress(query) ? 'true' : undefined}>
                {text}
              </a>
            </li>
          );
        })}
      </ul>
      <p class="fine">Bookmark this page to keep the search.</p>
    </nav>
  );
}

function Unready({ index: { complete, percent } }: { index: IndexProgress }) {
  if (complete) return null;
  return (
    <div class="notice" role="status">
      <p>{`Indexing stored entries: ${percent} % done.`}</p>
      <p>Searches miss the rest. Reload later.</p>
    </div>
  );
}

function Views({ query, lastVisit }: { query: FeedbackQuery; lastVisit: string | null }) {
  const byDocument = query.by === 'document';
  const isNew = query.since !== '';
  const to = (change: Partial<FeedbackQuery>) => feedbackAddress({ ...query, after: '', ...change });
  const since = isNew ? query.since : lastVisit;
  return (
    <nav aria-label="Views">
      <ul class="chips">
        <li>
          <a href={to({ by: '', all: '' })} aria-current={byDocument || query.all !== '' ? undefined : 'true'}>
            with words
          </a>
        </li>
        <li>
          <a href={to({ by: '', all: 'yes' })} aria-current={byDocument || query.all === '' ? undefined : 'true'}>
            all entries
          </a>
        </li>
        <li>
          <a href={to({ by: 'document', all: '' })} aria-current={byDocument ? 'true' : undefined}>
            by page
          </a>
        </li>
        {since !== null && (
          <li>
            <a href={to({ since: isNew ? '' : since })} aria-current={isNew ? 'true' : undefined}>
              {since === lastVisit ? 'new since my last visit, ' : 'new since '}
              <When at={utcOf(since) ?? null} />
            </a>
          </li>
        )}
      </ul>
    </nav>
  );
}

function Pages({ query, after }: { query: FeedbackQuery; after: string | null }) {
  if (after === null && query.after === '') return null;
  return (
    <nav aria-label="Pages">
      <ul class="chips">
        {query.after !== '' && (
          <li>
            <a href={feedbackAddress({ ...query, after: '' })}>Newest</a>
          </li>
        )}
        {after !== null && (
          <li>
            <a href={feedbackAddress({ ...query, after })}>Older</a>
          </li>
        )}
      </ul>
    </nav>
  );
}

function Files({ query, mayExceed, most }: { query: FeedbackQuery; mayExceed: boolean; most: number }) {
  const all = query.by === '' ? query.all : 'yes';
  const to = (path: string) => feedbackAddress({ ...query, all, by: '', after: '' }, path);
  return (
    <section aria-labelledby="files-title">
      <h2 id="files-title">As a file</h2>
      <ul class="chips">
        <li>
          <a href={to('/feedback.csv')} download="">
            CSV
          </a>
        </li>
        <li>
          <a href={to('/feedback.jsonl')} download="">
            JSONL
          </a>
        </li>
      </ul>
      <p class="fine">
        {mayExceed
          ? `A file holds the newest ${countText(most)} entries that match; the command feedback export writes all.`
          : 'Each file holds all entries that match.'}{' '}
        In CSV, cells that a spreadsheet would run begin with an apostrophe.
      </p>
    </section>
  );
}
