import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ConsoleApp, ConsoleContext } from '../app-context.ts';
import { MessagePage } from '../pages/message-page.tsx';
import { sentence } from '../pages/parts.tsx';
import { type Viewer, viewerOf } from '../pages/viewer.ts';

/** A whole page as an answer. */
export function page(c: ConsoleContext, content: Child, status: ContentfulStatusCode = 200) {
  return c.html(`<!doctype html>\n${String(content)}`, status);
}

/** Who looks, as pages need it. */
export function viewerIn(c: ConsoleContext, { options }: ConsoleApp): Viewer {
  return viewerOf(c.get('signedIn').session, options.write, c.req.query('done'));
}

/** Like `viewerIn`; null before the visitor is signed in. */
function anyViewerIn(c: ConsoleContext, app: ConsoleApp): Viewer | null {
  return c.get('signedIn') === undefined ? null : viewerIn(c, app);
}

/** A page that says what happened and what to do. */
export function failurePage(c: ConsoleContext, app: ConsoleApp, error: unknown, back: string) {
  const { code, message, hint: help } = app.options.setting.explain(error);
  const [title, status] = titles[code] ?? ['That did not work', 409];
  const isOrder = c.req.method === 'POST' && status === 503;
  const hint = isOrder ? `${maybeDone}${help === null ? '' : ` ${sentence(help)}`}` : help;
  const links = [[back, 'Back'] as const];
  return page(
    c,
    <MessagePage title={title} message={message} hint={hint} viewer={anyViewerIn(c, app)} links={links} />,
    status,
  );
}

/** An order without an answer may have arrived. */
const maybeDone = 'It may have been done all the same: look before you try again.';

/** Titles and statuses of failures that people meet, by their codes. */
const titles: Readonly<Record<string, readonly [string, ContentfulStatusCode]>> = {
  TemporalUnreachable: ['Temporal is away', 503],
  TooSlow: ['Too slow', 503],
  TemporalBusy: ['Temporal is busy', 503],
  NoWorker: ['No worker answers', 503],
  StoreUnavailable: ['A store is away', 503],
  Busy: ['Busy', 503],
  BadQuery: ['Not understood', 400],
  QueryTooLong: ['Too long', 413],
  NoSuchVersion: ['That version is gone', 410],
  NotRunning: ['Nothing is running any more', 409],
  Decided: ['Already decided', 409],
  NotHeld: ['Not held any more', 409],
  ExportRunning: ['An export is running', 409],
};

/** Something that does not exist. */
export function notFound(c: ConsoleContext, app: ConsoleApp) {
  const message = 'There is no such page, or what it showed is no longer in the configuration.';
  return page(
    c,
    <MessagePage title="Not found" message={message} viewer={anyViewerIn(c, app)} links={[['/', 'Overview']]} />,
    404,
  );
}
