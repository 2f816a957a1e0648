import { htmlText } from '../../feedback/report/figure.ts';
import { lastWeeks } from '../../feedback/rules/report-figures.ts';
import type {
  DocumentAnswer,
  EntryDetail,
  EntrySelection,
  SearchAnswer,
  SearchQuery,
} from '../../feedback/search/feedback-search.ts';
import type { FeedbackStore } from '../../feedback/store/feedback-store.ts';
import { beginningOf, shortTexts } from '../../rules/text.ts';
import { Readings, type ReadingTimes } from './shared-reading.ts';

/**
 * Readings kept at a time, of each kind. One of 50 entries, of 200 documents or of an entry with 200 changes has up to 1.4
 * million characters where every text is as long as it may be, usually some ten thousand.
 */
const mostKept = 30;
/** Characters shown of a comment or code on its own page, and of any other text; some have megabytes. */
const longestText = 50_000;
export const longestField = 2_000;

/** An entry with as much of its texts as a page shows. */
export interface ShownEntry extends EntryDetail {
  /** Characters left out of each text. */
  leftOut: { comment: number; code: number };
}

/**
 * What people search, read once for all viewers who ask the same. Viewers who may see contacts and viewers who may not
 * never share a reading: the permission is part of the question.
 */
export function feedbackReadings(feedback: () => Promise<FeedbackStore>, times: ReadingTimes) {
  const readings = <Asked, Value>(read: (store: FeedbackStore, asked: Asked) => Promise<Value>) =>
    new Readings((asked: Asked) => async () => read(await feedback(), asked), times, mostKept);
  return {
    entries: readings(
      async (store, query: SearchQuery): Promise<SearchAnswer> =>
        shortTexts(await store.findEntries(query), longestField),
    ),
    documents: readings(
      async (store, query: SearchQuery): Promise<DocumentAnswer> =>
        shortTexts(await store.findDocuments(query), longestField),
    ),
    /** The figure of what readers made of a page in twelve weeks, as HTML; null when they made nothing of it. */
    trends: readings(async (store, page: EntrySelection): Promise<string | null> => {
      const axis = lastWeeks(12, new Date());
      const trend = await store.findTrend(page, axis);
      if (trend.every(({ yes, no, comments }) => yes + no + comments === 0)) return null;
      // Loads the chart library, which few pages need.
      const { trendFigure } = await import('../../feedback/report/sections.ts');
      return await htmlText(trendFigure(axis, trend));
    }),
    /** Null when there is no such entry. */
    entry: readings(async (store, { project, id, contacts }: { project: string; id: string; contacts: boolean }) => {
      const found = await store.entryDetail(project, id, { contacts });
      return found && shownOf(found);
    }),
  };
}

function shownOf(entry: EntryDetail): ShownEntry {
  const { comment, code } = entry;
  const rest = (text: string | null) => Math.max(0, (text?.length ?? 0) - longestText);
  return {
    ...shortTexts({ ...entry, comment: null, code: null }, longestField),
    comment: beginningOf(comment, longestText),
    code: beginningOf(code, longestText),
    leftOut: { comment: rest(comment), code: rest(code) },
  };
}
