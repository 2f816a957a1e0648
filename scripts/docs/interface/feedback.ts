import type { Section } from './requirement.ts';

const entry = 'service/feedback-page > feedback entry';
const base = `${entry} > base variant: id, path, comment, createdAt, source %s, status`;
const mistyped = `${entry} > with %s = %j it is rejected, naming field and type but no content`;
const missing = `${entry} > without %s it is rejected`;
const contextual = `${entry} > contextual variant: helpful, contact`;
const snippet = `${entry} > code snippet variant: code, filename, lang`;
const stored = 'feedback/commit-page > the rows of a page > holds every field as sent, and the time in UTC beside it';

const response = 'service/feedback-page > feedback response';
const passedOn = `${response} > feedback may be empty; nextCursor and hasMore are passed on`;
const malformed = `${response} > a missing or mistyped %s makes the page malformed: %s`;

const query = 'service/client > get user feedback';
const sent = `${query} > sends dateFrom, dateTo, source, status (comma-separated), limit and cursor`;
const filters = 'sandbox/feedback > filters';
const whatever = 'activities/misbehaving-service > whatever the service does > $name';

/** INTERFACE "Feedback entry", "Feedback response", "Error response", "Feedback status", endpoint 1. */
export const feedback: readonly Section[] = [
  {
    title: 'Feedback entry',
    requirements: [
      ['feedback.id', '`id`, string, unique', base, missing, mistyped, stored],
      ['feedback.path', '`path`, string: the document', base, missing, mistyped, stored],
      ['feedback.comment', '`comment`, string or null', base, `${entry} > comment and createdAt may be null`, mistyped],
      [
        'feedback.createdAt',
        '`createdAt`, string or null',
        base,
        `${entry} > comment and createdAt may be null`,
        stored,
      ],
      [
        'feedback.createdAt.format',
        'not shown: the format of `createdAt`',
        `${entry} > createdAt is kept as sent, whatever its format`,
        'feedback/created-at > createdAtUtc > reads %j',
        'feedback/created-at > createdAtUtc > does not guess at %j',
      ],
      ['feedback.source', '`source`, one of four values', base, contextual, snippet, missing],
      ['feedback.status', '`status`, one of four values', `${entry} > status %s is kept`, missing, mistyped],
      [
        'feedback.required',
        'the six fields are in every variant; one that lacks them is kept aside',
        'sandbox/feedback > entries > have exactly the fields of their variant, with nulls, Unicode and long texts among them',
        missing,
        `${entry} > a missing %s counts as null`,
        'feedback/commit-page > rejects > keeps what cannot be understood, replaces it when sent again and drops it once it can be',
      ],
      ['feedback.source.code_snippet', '`code_snippet`: on a code block', snippet],
      ['feedback.source.contextual', '`contextual`: on a page', contextual],
      ['feedback.source.agent', '`agent`: by an AI agent', base],
      ['feedback.source.thumbs_only', '`thumbs_only`: a vote up or down', base],
      [
        'feedback.variant',
        '`source` chooses the variant',
        base,
        contextual,
        snippet,
        `${entry} > a field of another variant with another type is an unknown field`,
      ],
      ['feedback.helpful', '`helpful`, boolean, contextual only', contextual, mistyped, stored],
      ['feedback.contact', '`contact`, string or null, contextual only', contextual, mistyped, stored],
      ['feedback.code', '`code`, string, code snippet only', snippet, mistyped, stored],
      ['feedback.filename', '`filename`, string or null, code snippet only', snippet, mistyped, stored],
      ['feedback.lang', '`lang`, string or null, code snippet only', snippet, mistyped, stored],
      ['feedback.base', '`agent` and `thumbs_only` have no further fields', base],
    ],
  },
  {
    title: 'Feedback response',
    requirements: [
      ['page.feedback', '`feedback`, array, required', passedOn, malformed],
      [
        'page.nextCursor',
        '`nextCursor`, string or null, required',
        passedOn,
        malformed,
        `${response} > an empty or missing nextCursor leads nowhere`,
      ],
      ['page.hasMore', '`hasMore`, boolean, required', passedOn, malformed],
    ],
  },
  {
    title: 'Error response of analytics',
    requirements: [
      [
        'error.error',
        '`error`, string, required',
        'service/client-errors > an answer that is no success > %d becomes %o with the words of the service',
      ],
      [
        'error.details',
        '`details`, optional list of objects',
        'service/client-errors > an answer that is no success > 400 carries details[].message',
        'sandbox/feedback > validation > names every problem at once',
      ],
      [
        'error.details.message',
        '`details[].message`, string, required',
        'service/client-errors > an answer that is no success > 400 carries details[].message',
      ],
    ],
  },
  {
    title: 'Feedback status',
    requirements: [
      [
        'status.values',
        '`pending`, `in_progress`, `resolved`, `dismissed`',
        `${entry} > status %s is kept`,
        'cli/record-filter > unmetValues > warns of what the interface does not know and no entry has, and of nothing else',
      ],
      [
        'status.transitions',
        'not shown: any change of status is possible',
        'feedback/commit-page > history > keeps every change of status with its moment, and no other content',
        'feedback/page-sequence > any sequence of pages ends with the last version of each id, exact counts and an unbroken history',
      ],
    ],
  },
  {
    title: 'Get user feedback',
    requirements: [
      [
        'feedback.get',
        '`GET /v1/analytics/{projectId}/feedback`',
        'service/client > every operation > sends the bearer key, accepts JSON and names itself; one request each',
      ],
      [
        'feedback.get.projectId',
        '`projectId`, string, required, in the path',
        'service/client > every operation > encodes the id %j into its one path segment',
        'service/client > every operation > never sends the id %j',
      ],
      ['feedback.get.optional', 'every query parameter is optional', `${query} > sends nothing that was not asked for`],
      [
        'feedback.get.dateFrom',
        '`dateFrom`, date-time or date: the lower limit',
        sent,
        'model/pass-plan > planPass > puts the bounds that were asked for first in a %s',
      ],
      [
        'feedback.get.dateTo',
        '`dateTo`, date-time or date: the upper limit, not included',
        sent,
        'model/pass-plan > planPass > puts the bounds that were asked for first in a %s',
        `${filters} > select $found by $query under $rules`,
        'feedback/export-rows > entryRecords > reads with %j: %j',
      ],
      [
        'feedback.get.source',
        '`source`, one of four values',
        sent,
        `${filters} > select by source and by several statuses`,
      ],
      [
        'feedback.get.status',
        '`status`, a list separated by commas',
        sent,
        `${filters} > select by source and by several statuses`,
      ],
      ['feedback.get.limit', '`limit`, 1 to 100', sent, `${query} > never asks for limit %d`],
      [
        'feedback.get.limit.default',
        '`limit` is 50 unless sent',
        `${query} > sends nothing that was not asked for`,
        'sandbox/feedback > pages > hold 50 entries unless told otherwise',
      ],
      [
        'feedback.get.cursor',
        '`cursor`, from `nextCursor` of an earlier response',
        sent,
        'sandbox/feedback > pages > refuse a cursor of another query, and one that is too old',
      ],
      ['feedback.get.body', 'no request body', `${query} > sends nothing that was not asked for`],
      [
        'feedback.get.200',
        '200: the feedback response',
        passedOn,
        `${query} > reads a page sent byte by byte, with a byte order mark`,
      ],
      [
        'feedback.get.errors',
        '400 and 500: the error response',
        'service/client-errors > an answer that is no success > %d becomes %o with the words of the service',
        'service/client-errors > an answer that is no success > 400 carries details[].message',
      ],
      [
        'feedback.get.paging.cursor',
        'the next request carries the cursor of the last response',
        'activities/feedback-pages > fetchPages > stops at the end of its lease and goes on from the committed position with the next one',
      ],
      [
        'feedback.get.paging.hasMore',
        'go on while `hasMore` is true',
        'activities/feedback-pages > fetchPages > uses one lease and gives back what it does not need',
        'feedback/commit-page > the position > never takes a page without a cursor for the last one when more is promised',
      ],
      [
        'feedback.get.paging.end',
        'at the end `nextCursor` is null and `hasMore` false',
        'sandbox/feedback > pages > end with a null cursor and hasMore false, also when the last page is full',
        'activities/feedback-pages > fetchPages > fails, naming the page, after two wasted requests at most: %s (S3)',
      ],
      [
        'feedback.get.dateFrom.inclusive',
        'not shown: whether `dateFrom` itself is included; passes overlap, so it does not matter',
        'model/pass-plan > planPass > begins an incremental pass a day before the watermark',
        'model/slice > resumedQuery > leaves no gap: what joins the part read so far, or the wider query, returns all the rest',
        whatever,
        `${filters} > select $found by $query under $rules`,
      ],
      [
        'feedback.get.timeZone',
        'not shown: the time zone of dates; only moments in UTC are sent',
        'model/pass-plan > planPass > puts the bounds that were asked for first in a %s',
        'model/pass-plan > planPass > keeps the planned beginning when only the end was asked for',
      ],
    ],
  },
];
