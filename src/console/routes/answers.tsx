import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ConsoleApp, ConsoleContext } from '../app-context.ts';
import { MessagePage } from '../pages/message-page.tsx';
import { type Look, Looking, sentence, type Viewer, writtenMark } from '../pages/parts.tsx';
import { pageHeaders } from '../security/page-headers.ts';

interface PageAnswer {
  status?: ContentfulStatusCode;
  /** What the page shows, as it was read. */
  read?: { at: number; late: boolean } | null;
  /** Replaces the page's `<Written />`: a long part that many pages share is encoded once. */
  written?: Uint8Array | null;
}

/**
 * The path of the request, safe in links and forms. It is encoded as the browser sent it, because browsers take some
 * decoded characters for a slash, and begins with one slash, because two would lead to another site.
 */
export const pathOf = ({ req }: ConsoleContext): string => new URL(req.url).pathname.replace(/^\/+/, '/');

/** A whole page as an answer to who looks. */
export function page(
  c: ConsoleContext,
  app: ConsoleApp,
  content: Child,
  { status = 200, read = null, written = null }: PageAnswer = {},
) {
  const viewer = c.get('signedIn') === undefined ? null : viewerIn(c, app);
  const [before = '', after = ''] = htmlOf(content, { viewer, read }).split(writtenMark);
  // A text would be checked, copied and encoded on its way out.
  const bytes = Buffer.concat([Buffer.from(before), written ?? new Uint8Array(), Buffer.from(after)]);
  return c.body(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length), status, { 'Content-Type': htmlType });
}

export const htmlOf = (content: Child, look: Look): string =>
  `<!doctype html>\n${<Looking.Provider value={look}>{content}</Looking.Provider>}`;

const htmlType = 'text/html; charset=UTF-8';

/** Who looks, as pages need it; `?done` names what the session remembers to tell on the next page. */
export function viewerIn(c: ConsoleContext, { options }: ConsoleApp): Viewer {
  const { identity, formToken, notes } = c.get('signedIn').session;
  const whyNot = !options.write
    ? 'The console is read-only: console.write in docferry.yaml lets operators act.'
    : identity.operator
      ? null
      : 'You may look; only operators may act.';
  return {
    login: identity.login,
    mayAct: whyNot === null,
    seesContacts: identity.contacts,
    whyNot,
    formToken,
    note: notes.get(c.req.query('done') ?? '') ?? null,
  };
}

/** A page that says what happened and what to do. */
export function failurePage(c: ConsoleContext, app: ConsoleApp, error: unknown, back: string) {
  const { code, message, hint: help } = app.options.setting.explain(error);
  const [title, status] = titles[code] ?? ['That did not work', 409];
  const isOrder = c.req.method === 'POST' && status === 503;
  const hint = isOrder ? `${maybeDone}${help === null ? '' : ` ${sentence(help)}`}` : help;
  return page(c, app, <MessagePage title={title} message={message} hint={hint} links={[[back, 'Back']]} />, { status });
}

/** The answer, or a page that says what failed and leads back. */
export async function orFailure(
  c: ConsoleContext,
  app: ConsoleApp,
  back: string,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    return failurePage(c, app, error, back);
  }
}

/** An order without an answer may have arrived. */
const maybeDone = 'It may have succeeded. Check before retrying.';

/** Titles and statuses of failures that people meet, by their codes. */
const titles: Readonly<Record<string, readonly [string, ContentfulStatusCode]>> = {
  TemporalUnreachable: ['Temporal is unreachable', 503],
  TooSlow: ['Too slow', 503],
  TemporalBusy: ['Temporal is busy', 503],
  NoWorker: ['No worker answers', 503],
  StoreUnavailable: ['A store is unavailable', 503],
  Busy: ['Busy', 503],
  BadQuery: ['Not understood', 400],
  QueryTooLong: ['Too long', 413],
  NoSuchVersion: ['That version is gone', 410],
  NotRunning: ['Already ended', 409],
  Decided: ['Already decided', 409],
  NotHeld: ['Not on hold', 409],
  ExportRunning: ['An export is running', 409],
};

/** Something that does not exist. */
export function notFound(c: ConsoleContext, app: ConsoleApp) {
  const message = 'This page does not exist, or its subject is no longer configured.';
  const content = <MessagePage title="Not found" message={message} links={[['/', 'Overview']]} />;
  return page(c, app, content, { status: 404 });
}

/** A browser that still sends would not read an answer on a connection that is closed under it. */
const lingerMs = 2_000;

const statuses: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Answers what never became a request, such as a search of megabytes in an address, with a page that says so. */
export function answerOverlong(server: Server): void {
  const answered = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (answered.has(socket)) return;
    answered.add(socket);
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const status = statuses[error.code ?? ''] ?? 400;
    socket.end(answer(status));
    // What still comes is read and thrown away for a moment.
    socket.removeAllListeners('data').resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
}

function answer(status: number): string {
  const page =
    status === 431 ? (
      <MessagePage
        title="Too long"
        message="The address is longer than 16 KiB, the most the console accepts. Nothing was read or done."
        hint="Go back and search for fewer words."
      />
    ) : (
      <MessagePage title="Not understood" message="The console could not read this request. Nothing was done." />
    );
  const body = Buffer.from(`<!doctype html>\n${String(page)}`);
  const headers = {
    ...pageHeaders,
    'Content-Type': htmlType,
    'Content-Length': body.length,
    Connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body.toString()}`;
}
