import type { Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { SearchRefused } from '../../feedback/search/feedback-search.ts';
import { ConsoleFailure } from '../console-failure.ts';
import type { ConsoleApp, ConsoleContext, ConsoleEnv } from '../app-context.ts';
import { EntryPage } from '../pages/entry-page.tsx';
import type { FilterChoices } from '../pages/feedback-filter.tsx';
import { FeedbackPage } from '../pages/feedback-page.tsx';
import { feedbackQuery } from '../readings/feedback-query.ts';
import { checkConfigured, selectionOf } from '../readings/feedback-selection.ts';
import { nextVisit } from '../readings/last-visit.ts';
import { failurePage, notFound, page, viewerIn } from './answers.tsx';
import { Downloads, downloadFormats, mostInFile } from './feedback-download.ts';

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
    orRefusal(c, app, async () => {
      const query = queryIn(c);
      const viewer = viewerIn(c, app);
      const selection = selectionOf(query);
      const { after } = query;
      const search = {
        ...selection,
        contacts: viewer.seesContacts,
        limit: shownEntries,
        ...(after !== '' && { after }),
      };
      const reading =
        query.by === 'document'
          ? reader.feedback.documents({ ...selection, limit: shownDocuments })
          : reader.feedback.entries(search);
      const { value: found, at, late } = await reading.get();
      const shown = { viewer, query, choices, found, lastVisit: noteVisit(c, app), mostInFile, at, late };
      return page(c, <FeedbackPage {...shown} />);
    }),
  );
  for (const [ending, { type, format }] of Object.entries(downloadFormats)) {
    hono.get(`/feedback.${ending}`, (c) =>
      orRefusal(c, app, async () => {
        const selection = { ...selectionOf(queryIn(c)), contacts: viewerIn(c, app).seesContacts };
        const name = `feedback-${new Date().toISOString().slice(0, 10)}.${ending}`;
        const headers = { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` };
        // A file that no browser reads would stay open.
        if (c.req.method === 'HEAD') return c.body(null, 200, headers);
        const store = await reader.connections.feedback();
        const { login } = c.get('signedIn').session.identity;
        return c.body(await downloads.begin(login, store.findRecords(selection), format), 200, headers);
      }),
    );
  }
  hono.get('/feedback/:project/:id', (c) =>
    orRefusal(c, app, async () => {
      const { project, id } = c.req.param();
      const viewer = viewerIn(c, app);
      const { value, at, late } = await reader.feedback.entry(project, id, viewer.seesContacts).get();
      if (value === null) return notFound(c, app);
      return page(c, <EntryPage viewer={viewer} entry={value} choices={choices} at={at} late={late} />);
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

async function orRefusal(c: ConsoleContext, app: ConsoleApp, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    return failurePage(c, app, refusalOf(error), '/feedback');
  }
}

function refusalOf(error: unknown): unknown {
  if (error instanceof SearchRefused) return new ConsoleFailure('BadQuery', error.message, error.hint);
  return error;
}
