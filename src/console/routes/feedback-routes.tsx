import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { FeedbackRecord, LineFormat } from '../../feedback/files/feedback-record.ts';
import { csv, jsonLines, lines } from '../../feedback/files/text-files.ts';
import { documentsLike } from '../../feedback/search/feedback-search.ts';
import type { ConsoleApp, ConsoleContext, ConsoleEnv } from '../app-context.ts';
import { ConsoleFailure } from '../console-failure.ts';
import { EntryPage } from '../pages/entry-page.tsx';
import type { FilterChoices } from '../pages/feedback-filter.tsx';
import { FeedbackPage } from '../pages/feedback-page.tsx';
import {
  checkConfigured,
  type FeedbackQuery,
  feedbackQuery,
  nextVisit,
  pageOf,
  selectionOf,
} from '../readings/feedback-query.ts';
import { notFound, orFailure, page, viewerIn } from './answers.tsx';

/** What a selection can be loaded as. CSV is for spreadsheets, so that nothing in it may run there. */
export const downloadFormats = {
  csv: { type: 'text/csv; charset=UTF-8', format: csv({ formulaSafe: true }) },
  jsonl: { type: 'application/x-ndjson; charset=UTF-8', format: jsonLines },
} as const;

/** The pages that have entries where a query looks for one that has none. */
const everywhere = (query: FeedbackQuery) => ({
  ...selectionOf({ ...query, document: '', words: '', by: 'document' }),
  limit: shownDocuments,
});

/** Most records in a file. */
export const mostInFile = 100_000;

const mostAtOnce = 6;
/** By one login, which may have many sessions: one person must not take the places of all. */
const mostOfLogin = 2;
/** A browser that takes a file more slowly loses it. */
const longestMs = 10 * 60_000;

/** The files that browsers load at a time: a few, each read as fast as its browser takes it. */
export class Downloads {
  readonly #closing: AbortSignal;
  /** The login of each. */
  readonly #open: string[] = [];

  /** `closing` ends all. */
  constructor(closing: AbortSignal) {
    this.#closing = closing;
  }

  /**
   * A file of records. The first are read before this returns, so that a store that is away is a page and not half a file.
   */
  async begin(
    login: string,
    records: AsyncIterable<FeedbackRecord>,
    format: LineFormat,
  ): Promise<ReadableStream<Uint8Array>> {
    if (this.#open.filter((other) => other === login).length >= mostOfLogin) {
      const hint = `wait until one has ended, or end one: at most ${mostOfLogin} at a time`;
      throw new ConsoleFailure('Busy', `you are loading ${mostOfLogin} files already`, hint);
    }
    if (this.#open.length >= mostAtOnce) {
      throw new ConsoleFailure('Busy', 'others are loading files', 'try again in a minute');
    }
    const pieces = this.#pieces(login, records, format);
    let first: IteratorResult<string> | null = await pieces.next();
    const ended = AbortSignal.any([this.#closing, AbortSignal.timeout(longestMs)]);
    const encoder = new TextEncoder();
    return new ReadableStream<Uint8Array>(
      {
        start(controller) {
          const end = () => {
            controller.error(ended.reason);
            void pieces.return(undefined);
          };
          ended.addEventListener('abort', end, { once: true });
        },
        async pull(controller) {
          const { done, value } = first ?? (await pieces.next());
          first = null;
          if (done) controller.close();
          else controller.enqueue(encoder.encode(value));
        },
        cancel: async () => {
          await pieces.return(undefined);
        },
      },
      { highWaterMark: 0 },
    );
  }

  async *#pieces(
    login: string,
    records: AsyncIterable<FeedbackRecord>,
    format: LineFormat,
  ): AsyncGenerator<string, undefined, undefined> {
    this.#open.push(login);
    try {
      const encoder = lines(format);
      let count = 0;
      for await (const record of records) {
        const piece = encoder.add(record);
        if (piece !== null) {
          yield String(piece);
          // SQLite and a browser that takes all at once would leave no turn to other requests.
          await letOthersRun();
        }
        count += 1;
        if (count === mostInFile) break;
      }
      yield String(encoder.end());
      return undefined;
    } finally {
      this.#open.splice(this.#open.indexOf(login), 1);
    }
  }
}

const shownEntries = 50;
const shownDocuments = 200;
const yearSeconds = 365 * 24 * 60 * 60;

/** What readers and agents have said: found, shown and loaded as a file. */
export function addFeedbackRoutes(hono: Hono<ConsoleEnv>, app: ConsoleApp): void {
  const { reader } = app;
  const organizations = reader.setting.organizations.map(({ id, projects, sites }) => {
    return { id, projects, domains: sites.map(({ domain }) => domain) };
  });
  const choices: FilterChoices = { organizations };
  const downloads = new Downloads(app.closing);

  const queryIn = (c: ConsoleContext) => {
    const query = feedbackQuery(new URL(c.req.url).searchParams);
    checkConfigured(query, organizations);
    return query;
  };
  hono.get('/feedback', (c) =>
    orFailure(c, app, '/feedback', async () => {
      const query = queryIn(c);
      const selection = selectionOf(query);
      const { after } = query;
      const contacts = viewerIn(c, app).seesContacts;
      const search = { ...selection, contacts, limit: shownEntries, ...(after !== '' && { after }) };
      const reading =
        query.by === 'document'
          ? reader.feedback.documents.of({ ...selection, limit: shownDocuments })
          : reader.feedback.entries.of(search);
      const [read, trend] = await Promise.all([
        reading.get(),
        query.document === '' ? null : reader.feedback.trends.of(selectionOf(pageOf(query))).get(),
      ]);
      const found = read.value;
      const isUnknown = query.document !== '' && found.total.count === 0;
      const all = isUnknown ? await reader.feedback.documents.of(everywhere(query)).get() : null;
      const shown = {
        query,
        meant: all === null ? [] : documentsLike(all.value, query.document),
        choices,
        found,
        trend: trend?.value ?? null,
        lastVisit: noteVisit(c, app),
        mostInFile,
      };
      return page(c, app, <FeedbackPage {...shown} />, { read });
    }),
  );
  for (const [ending, { type, format }] of Object.entries(downloadFormats)) {
    hono.get(`/feedback.${ending}`, (c) =>
      orFailure(c, app, '/feedback', async () => {
        const selection = { ...selectionOf(queryIn(c)), contacts: viewerIn(c, app).seesContacts };
        const name = `feedback-${new Date().toISOString().slice(0, 10)}.${ending}`;
        const headers = { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` };
        // A file that no browser reads would stay open.
        if (c.req.method === 'HEAD') return c.body(null, 200, headers);
        const store = await reader.installation.feedback();
        const { login } = c.get('signedIn').session.identity;
        return c.body(await downloads.begin(login, store.findRecords(selection), format), 200, headers);
      }),
    );
  }
  hono.get('/feedback/:project/:id', (c) =>
    orFailure(c, app, '/feedback', async () => {
      const { project, id } = c.req.param();
      const contacts = viewerIn(c, app).seesContacts;
      const read = await reader.feedback.entry.of({ project, id, contacts }).get();
      if (read.value === null) return notFound(c, app);
      return page(c, app, <EntryPage entry={read.value} choices={choices} />, { read });
    }),
  );
}

/** When this login last looked; from now on that is now. The browser keeps it, since sessions end. */
function noteVisit(c: ConsoleContext, { cookieName, known: { secure } }: ConsoleApp): string | null {
  const name = `${cookieName}_looked`;
  const { kept, since } = nextVisit(getCookie(c, name), c.get('signedIn').session.identity.login, Date.now());
  setCookie(c, name, kept, { path: '/', httpOnly: true, sameSite: 'Strict', secure, maxAge: yearSeconds });
  return since;
}
