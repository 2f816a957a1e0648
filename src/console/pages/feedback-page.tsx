import { raw } from 'hono/html';
import { shortened, visible } from '../../feedback/report/figure.ts';
import type {
  DocumentAnswer,
  FoundDocument,
  IndexProgress,
  SearchAnswer,
} from '../../feedback/search/feedback-search.ts';
import { counted, countText, pagePath } from '../../rules/text.ts';
import { type FeedbackQuery, feedbackAddress, utcOf } from '../readings/feedback-query.ts';
import { documentAddress, FeedbackFilter, type FilterChoices } from './feedback-filter.tsx';
import { Hits, projectNames } from './feedback-hits.tsx';
import { Page } from './layout.tsx';
import { Chips, Foreign, Linked, Section, Table, When } from './parts.tsx';

interface Documents {
  query: FeedbackQuery;
  found: DocumentAnswer;
  choices: FilterChoices;
}

/** The hits by document, documents with the most hits first. */
function DocumentTable({ query, found: { documents, total, more }, choices }: Documents) {
  if (documents.length === 0) return null;
  const names = projectNames(choices);
  return (
    <>
      {!total.isExact && <p class="fine">{`Counts cover the newest ${countText(total.count)}.`}</p>}
      <Table
        caption="Pages"
        rows={documents}
        columns={[
          [
            'page',
            ({ project, document }) => <DocumentLink query={{ ...query, project, all: 'yes' }} document={document} />,
          ],
          names.size > 1 && ['project', ({ project }) => <Foreign text={names.get(project) ?? project} />],
          ['entries', ({ entries }) => countText(entries)],
          ['helpful', ({ helpful }) => countText(helpful.yes)],
          [
            'not helpful',
            ({ project, document, helpful }) => (
              <Complaints query={{ ...query, project }} document={document} count={helpful.no} />
            ),
          ],
          ['latest', ({ latest }) => <When at={latest} />],
        ]}
      />
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
  return <Linked to={documentAddress(query, document)} name={shortened(pagePath(document), 200)} />;
}

interface Feedback {
  query: FeedbackQuery;
  choices: FilterChoices;
  /** What was found: entries, or what each document has. */
  found: SearchAnswer | DocumentAnswer;
  /** Where nothing is said of the page that is asked for: pages of a like name. */
  meant: readonly FoundDocument[];
  /** The figure of one page over time, when one is asked for; null for none. */
  trend: string | null;
  /** When this login last looked, UTC ISO 8601; null when that is not known. */
  lastVisit: string | null;
  /** Most entries in a file. */
  mostInFile: number;
}

/** Feedback of readers and agents that matches the query. */
export function FeedbackPage({ query, choices, found, meant, trend, lastVisit, mostInFile }: Feedback) {
  const { total, index } = found;
  return (
    <Page title="Feedback" at="/feedback">
      <SavedSearches query={query} />
      <FeedbackFilter query={query} choices={choices} />
      <Unready index={index} />
      <Views query={query} lastVisit={lastVisit} />
      <p class="under" role="status">
        {total.count === 0
          ? nothingText(query)
          : `${total.isExact ? '' : 'More than '}${counted(total.count, 'entry', 'entries')}${'documents' in found ? ' by page' : ', newest first'}.`}
      </p>
      {meant.length > 0 && (
        <ul aria-label="Pages of a like name" class="chips">
          {meant.map(({ project, document }) => (
            <li>
              <DocumentLink query={{ ...query, project }} document={document} />
            </li>
          ))}
        </ul>
      )}
      {trend !== null && raw(trend)}
      {'documents' in found ? (
        <DocumentTable query={query} found={found} choices={choices} />
      ) : (
        <>
          <Hits found={found} choices={choices} />
          <Chips
            label="Pages"
            links={[
              query.after !== '' && { href: feedbackAddress({ ...query, after: '' }), text: 'Newest' },
              found.after !== null && { href: feedbackAddress({ ...query, after: found.after }), text: 'Older' },
            ]}
          />
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
  const { words, document, ...others } = narrowed;
  const isNarrowed = Object.values(others).some((one) => one !== '');
  if (words !== '') return 'No results. Try fewer words or clear the filters.';
  if (document !== '') {
    const name = visible(shortened(pagePath(document), 200));
    return `No results. Nothing is stored of the page ${name}${isNarrowed ? ' with these filters' : ''}.`;
  }
  if (isNarrowed) return 'No results. Clear the filters.';
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
  const links = usual.map(([text, asked]) => {
    const href = feedbackAddress(asked);
    return { href, text, isShown: href === feedbackAddress(query) };
  });
  return (
    <>
      <Chips label="Saved searches" links={links} />
      <p class="fine">Bookmark this page to keep the search.</p>
    </>
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
    <Chips
      label="Views"
      links={[
        { href: to({ by: '', all: '' }), text: 'with words', isShown: !byDocument && query.all === '' },
        { href: to({ by: '', all: 'yes' }), text: 'all entries', isShown: !byDocument && query.all !== '' },
        { href: to({ by: 'document', all: '' }), text: 'by page', isShown: byDocument },
        since !== null && {
          href: to({ since: isNew ? '' : since }),
          isShown: isNew,
          text: (
            <>
              {since === lastVisit ? 'new since my last visit, ' : 'new since '}
              <When at={utcOf(since) ?? null} />
            </>
          ),
        },
      ]}
    />
  );
}

function Files({ query, mayExceed, most }: { query: FeedbackQuery; mayExceed: boolean; most: number }) {
  const all = query.by === '' ? query.all : 'yes';
  const to = (path: string) => feedbackAddress({ ...query, all, by: '', after: '' }, path);
  return (
    <Section id="files" title="As a file">
      <Chips
        label="Files"
        links={[
          { href: to('/feedback.csv'), text: 'CSV' },
          { href: to('/feedback.jsonl'), text: 'JSONL' },
        ]}
      />
      <p class="fine">
        {mayExceed
          ? `A file holds the newest ${countText(most)} entries that match; the command feedback export writes all.`
          : 'Each file holds all entries that match.'}{' '}
        In CSV, cells that a spreadsheet would run begin with an apostrophe.
      </p>
    </Section>
  );
}
