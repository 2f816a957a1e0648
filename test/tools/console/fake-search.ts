import type { ConsoleSetting } from '../../../src/console/console-setting.ts';
import type { FeedbackRecord } from '../../../src/feedback/files/feedback-record.ts';
import type {
  DocumentAnswer,
  EntryDetail,
  FoundEntry,
  FoundText,
  SearchAnswer,
} from '../../../src/feedback/search/feedback-search.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { fakeSetting } from './fake-setting.ts';

export const contact = 'ada@reader.example';

/** An entry as it is stored, with what a test cares about. */
export function record(given: Partial<FeedbackRecord> = {}): FeedbackRecord {
  return {
    org_id: 'acme',
    project_id: 'prj_1',
    id: 'fb_1',
    path: '/guides/install',
    comment: 'The install step fails',
    created_at: '2026-11-20T08:00:00Z',
    created_at_utc: '2026-11-20T08:00:00.000Z',
    source: 'contextual',
    status: 'pending',
    helpful: false,
    contact,
    code: null,
    filename: null,
    lang: null,
    extra: { mail: contact },
    first_seen_at: '2026-11-20T08:05:00.000Z',
    last_seen_at: '2026-11-21T08:05:00.000Z',
    deleted_at: null,
    ...given,
  };
}

/** What is asked of the search, and what it answers. */
interface FakeSearch {
  asked: unknown[];
  records: FeedbackRecord[];
  changes: EntryDetail['changes'];
  answer: Partial<SearchAnswer & DocumentAnswer>;
  /** Comes before every answer; throws for a store that is away. */
  before(): Promise<void>;
}

/** A setting whose feedback store only searches: in memory, and it notes what it is asked. */
export function searchSetting(given: Partial<FakeSearch> = {}): { setting: ConsoleSetting; search: FakeSearch } {
  const search: FakeSearch = {
    asked: [],
    records: [record()],
    changes: [],
    answer: {},
    before: async () => {},
    ...given,
  };
  const index = { complete: true, percent: 100 };
  const total = () => ({ count: search.records.length, isExact: true });
  const store: Pick<
    FeedbackStore,
    'findEntries' | 'findDocuments' | 'findTrend' | 'findRecords' | 'entryDetail' | 'indexMore'
  > = {
    async findEntries(query) {
      search.asked.push(query);
      await search.before();
      const entries = search.records.map((one) => foundEntry(one, query.contacts === true));
      return { entries, total: total(), after: null, index, ...search.answer };
    },
    async findDocuments(query) {
      search.asked.push(query);
      await search.before();
      const documents = search.records.map((one) => ({
        org: one.org_id,
        project: one.project_id,
        document: one.path,
        entries: 1,
        helpful: { yes: 0, no: 1 },
        latest: one.created_at_utc,
      }));
      return { documents, total: total(), more: 0, index, ...search.answer };
    },
    async findTrend(_selection, { starts }) {
      return starts.map(() => ({ yes: 0, no: 0, comments: 0 }));
    },
    async *findRecords({ contacts, ...selection }) {
      search.asked.push({ ...selection, contacts });
      await search.before();
      for (const one of search.records) yield contacts ? one : { ...one, contact: null, extra: {} };
    },
    async entryDetail(project, id, how) {
      await search.before();
      const one = search.records.find((entry) => entry.project_id === project && entry.id === id);
      if (one === undefined) return null;
      const { comment, code, created_at, last_seen_at, deleted_at } = one;
      return {
        ...foundEntry(one, how?.contacts === true),
        comment,
        code,
        createdAtAsSent: created_at,
        lastSeenAt: last_seen_at,
        deletedAt: deleted_at,
        changes: search.changes,
        hasEarlierChanges: false,
      };
    },
    indexMore: async () => index,
  };
  const setting = fakeSetting({ calls: [], auditEntries: [] });
  return {
    search,
    setting: {
      ...setting,
      openFeedback: async () => ({ ...store, close: async () => {} }) as unknown as FeedbackStore,
    },
  };
}

function foundEntry(one: FeedbackRecord, contacts: boolean): FoundEntry {
  return {
    org: one.org_id,
    project: one.project_id,
    id: one.id,
    source: one.source,
    status: one.status,
    helpful: one.helpful,
    path: one.path,
    document: one.path,
    createdAt: one.created_at_utc,
    firstSeenAt: one.first_seen_at,
    comment: foundText(one.comment),
    code: foundText(one.code),
    filename: one.filename,
    lang: one.lang,
    contact: contacts ? one.contact : null,
  };
}

function foundText(text: string | null): FoundText | null {
  return text === null ? null : { text: text.slice(0, 1_000), from: 0, length: text.length, marks: [] };
}
