import type { DocumentAnswer, IndexProgress, SearchAnswer } from '../../feedback/search/feedback-search.ts';
import { counted, countText } from '../../rules/quantities.ts';
import { type FeedbackQuery, feedbackAddress, utcOf } from '../readings/feedback-query.ts';
import { Page } from './layout.tsx';
import { Aged, When } from './parts.tsx';
import type { Viewer } from './viewer.ts';
import { DocumentTable } from './feedback-documents.tsx';
import { FeedbackFilter, type FilterChoices } from './feedback-filter.tsx';
import { Hits } from './feedback-hits.tsx';

interface Feedback {
  viewer: Viewer;
  query: FeedbackQuery;
  choices: FilterChoices;
  /** What was found: entries, or what each document has. */
  found: SearchAnswer | DocumentAnswer;
  /** When this login last looked, UTC ISO 8601; null when that is not known. */
  lastVisit: string | null;
  /** Most entries in a file. */
  mostInFile: number;
  at: number;
  late: boolean;
}

/** What readers and agents have said, as far as it is asked for. */
export function FeedbackPage({ viewer, query, choices, found, lastVisit, mostInFile, at, late }: Feedback) {
  const { total, index } = found;
  return (
    <Page title="Feedback" viewer={viewer} at="/feedback">
      <FeedbackFilter query={query} choices={choices} />
      <Aged at={at} late={late} />
      <Unready index={index} />
      <Views query={query} lastVisit={lastVisit} />
      <p class="under" role="status">
        {total.count === 0
          ? nothingText(query)
          : `${total.isExact ? '' : 'More than '}${counted(total.count, 'entry', 'entries')}${'documents' in found ? ' by page' : ', newest first'}.`}
      </p>
      {'documents' in found ? (
        <DocumentTable query={query} found={found} choices={choices} />
      ) : (
        <>
          <Hits found={found} choices={choices} now={at} />
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
function nothingText({
  words,
  org,
  project,
  source,
  status,
  helpful,
  document,
  from,
  to,
  since,
  after,
}: FeedbackQuery) {
  const isAll = [words, org, project, source, status, helpful, document, from, to, since, after].every(
    (one) => one === '',
  );
  return isAll
    ? 'No feedback is stored yet: a sync of a project reads it.'
    : 'Nothing fits. Fewer words or filters find more; Clear takes all of them away.';
}

function Unready({ index: { complete, percent } }: { index: IndexProgress }) {
  if (complete) return null;
  return (
    <div class="notice" role="status">
      <p>{`docferry is indexing the stored entries: ${percent} % are done.`}</p>
      <p>A search misses the others. Load this page again later.</p>
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
          <a href={to({ by: '' })} aria-current={byDocument ? undefined : 'true'}>
            entries
          </a>
        </li>
        <li>
          <a href={to({ by: 'document' })} aria-current={byDocument ? 'true' : undefined}>
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
  const to = (path: string) => feedbackAddress({ ...query, by: '', after: '' }, path);
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
