import type { Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { clientOf } from '../../http-server.ts';
import type { ConsoleApp, ConsoleContext, ConsoleEnv, SignedIn } from '../app-context.ts';
import { signInError } from '../identity/sign-in-errors.ts';
import { KeptFormPage, MessagePage } from '../pages/message-page.tsx';
import { type Identity, type Session, sameIdentity, sameSecret, terminalIdentity } from '../security/sessions.ts';
import { page, pathOf } from './answers.tsx';

/** Signing in and out. These answer people without a session too. */
export function addSignInRoutes(hono: Hono<ConsoleEnv>, app: ConsoleApp): void {
  const { link, openId, sessions } = app;
  hono.get('/sign-in', (c) => {
    const token = c.req.query('token') ?? '';
    // What looks ahead, and not a person, must not use the link up.
    const isPerson = c.req.method === 'GET' && c.req.header('sec-purpose') === undefined;
    if (link === null) return refused(c, app, 'There is no link to sign in by.');
    if (!isPerson || !link.use(token))
      return refused(c, app, 'This link has already been used, or is not the latest one.');
    return begin(c, app, terminalIdentity);
  });
  hono.post('/sign-out', (c) => {
    const cookie = getCookie(c, app.cookieName);
    const session = sessions.find(cookie);
    const form = c.get('form');
    if (session !== null) {
      if (!sameSecret(form.get('token') ?? '', session.formToken)) return notSignedOut(c, app, session.identity);
      if (form.get('everywhere') === 'yes') sessions.revoke(session.identity.login);
      else sessions.end(cookie);
      deleteCookie(c, app.cookieName, { path: '/', secure: app.known.secure });
    }
    const [message, hint] = ['You are signed out.', howToSignIn(app)];
    return page(c, app, <MessagePage title="Signed out" message={message} hint={hint} links={linksOf(app)} />);
  });
  if (openId === null) return;
  hono.get('/oidc/start', async (c) => {
    try {
      const { url, cookie } = await openId.begin();
      // The provider sends the browser back from its own site: a strict cookie would not come along.
      const rules = { path: '/', httpOnly: true, sameSite: 'Lax', secure: app.known.secure, maxAge: 600 } as const;
      setCookie(c, app.signInCookie, cookie, rules);
      return c.redirect(url.href, 302);
    } catch {
      return refused(c, app, 'The provider that signs people in does not answer.', 503);
    }
  });
  hono.get('/oidc/callback', async (c) => {
    const cookie = getCookie(c, app.signInCookie);
    deleteCookie(c, app.signInCookie, { path: '/', secure: app.known.secure });
    try {
      const identity = await openId.end(new URL(c.req.url).search, cookie);
      if (identity === null)
        return refused(c, app, 'This sign-in did not begin here, or took too long. Sign in again.');
      if (identity === 'refused') return notLetIn(c, app);
      return begin(c, app, identity);
    } catch (error) {
      const { message, status } = signInError(error);
      return refused(c, app, message, status);
    }
  });
}

/** Who is signed in, by the proxy's word or by a cookie; otherwise the answer that says how to sign in. */
export function signedIn(c: ConsoleContext, app: ConsoleApp): SignedIn | Response | Promise<Response> {
  const { sessions } = app;
  const cookie = getCookie(c, app.cookieName);
  if (sessions.isRevoked(cookie)) {
    deleteCookie(c, app.cookieName, { path: '/', secure: app.known.secure });
    return c.req.method === 'POST' ? keptForm(c, app) : refused(c, app, 'Your session was ended.', 401, addressOf(c));
  }
  // A strict cookie stays behind when another site leads here: the page leads to itself from here. The browser says then
  // that it comes from here, so that happens once.
  const isLed = ['cross-site', 'same-site'].includes(c.req.header('sec-fetch-site') ?? '');
  if (isLed && cookie === undefined && c.req.method === 'GET') return page(c, app, <Onward to={addressOf(c)} />);
  // A page left open must not keep a session alive.
  const byScript = c.req.path === '/events' || c.req.header('x-docferry-live') !== undefined;
  const session = sessions.find(cookie, byScript ? 'script' : 'person');
  const named = namedByProxy(c, app);
  const isTheirs = (of: Session) =>
    named === null ? !of.byProxy : named !== 'refused' && sameIdentity(of.identity, named);
  if (session !== null && cookie !== undefined && isTheirs(session)) return { session, cookie };
  sessions.end(cookie);
  if (named === 'refused') return notLetIn(c, app);
  if (named !== null) return keep(c, app, named, true);
  if (c.req.method === 'POST') return keptForm(c, app);
  const message = cookie === undefined ? 'You are not signed in.' : 'Your session has ended.';
  return refused(c, app, message, 401, addressOf(c));
}

/** Whom the proxy names, if the request comes from it. */
function namedByProxy(c: ConsoleContext, { proxy }: ConsoleApp): Identity | 'refused' | null {
  const isFromProxy = proxy?.isFrom(c.env.incoming.socket.remoteAddress) === true;
  return isFromProxy ? proxy.identityIn((name) => c.req.header(name)) : null;
}

/** Who shares the limits of this request: a login or, where there is none, an address. */
export function actorOf(c: ConsoleContext, app: ConsoleApp): string {
  const named = namedByProxy(c, app) ?? app.sessions.find(getCookie(c, app.cookieName), 'script')?.identity ?? null;
  return named === null || named === 'refused' ? clientOf(c.env.incoming.socket.remoteAddress) : `login ${named.login}`;
}

/** Always a new session: an id that another person has set is worth nothing. */
function begin(c: ConsoleContext, app: ConsoleApp, identity: Identity) {
  app.sessions.end(getCookie(c, app.cookieName));
  keep(c, app, identity);
  // A redirect would still count as coming from the other site, and the cookie would stay behind.
  return page(c, app, <Onward to="/" title="Signed in" />);
}

function keep(c: ConsoleContext, { sessions, cookieName, known }: ConsoleApp, identity: Identity, byProxy = false) {
  const begun = sessions.begin(identity, byProxy);
  setCookie(c, cookieName, begun.cookie, { path: '/', httpOnly: true, sameSite: 'Strict', secure: known.secure });
  return begun;
}

function refused(c: ConsoleContext, app: ConsoleApp, message: string, status: 401 | 503 = 401, again = '/') {
  const links = linksOf(app, again);
  return page(c, app, <MessagePage title="Sign in" message={message} hint={howToSignIn(app)} links={links} />, {
    status,
  });
}

/** What was typed is not lost: the page that says so contains the form, ready to be sent again. */
function keptForm(c: ConsoleContext, app: ConsoleApp) {
  const shown = {
    title: 'Sign in',
    message: 'Your session has ended. Nothing was done; this page keeps what you sent.',
    hint: `${howToSignIn(app)} Do that in another tab; then send it again from here.`,
    links: linksOf(app),
    form: c.get('form'),
    action: pathOf(c),
    label: 'Send it again',
  };
  return page(c, app, <KeptFormPage {...shown} />, { status: 401 });
}

/** A page of an earlier session must not say that this one has ended. */
function notSignedOut(c: ConsoleContext, app: ConsoleApp, { login }: Identity) {
  const message = `This form belongs to an earlier session. You are still signed in as ${login}.`;
  const hint = 'Open the overview and sign out there.';
  const content = <MessagePage title="Not signed out" message={message} hint={hint} links={[['/', 'Overview']]} />;
  return page(c, app, content, { status: 403 });
}

function notLetIn(c: ConsoleContext, app: ConsoleApp) {
  const message = 'You are signed in, but you have no role that lets you look.';
  const hint =
    'Ask who runs docferry to add your login or group to console.viewers or console.operators. A login that is longer than 100 characters, has invisible ones or is “terminal” is never let in.';
  return page(c, app, <MessagePage title="Not let in" message={message} hint={hint} />, { status: 403 });
}

function howToSignIn({ openId, proxy, link }: ConsoleApp): string {
  if (openId !== null) return 'Sign in with your account.';
  if (proxy !== null) return 'Open docferry by the address of the proxy, which signs you in.';
  return link === null
    ? 'Nobody can sign in: there is no link, and docferry.yaml has neither console.proxy nor console.oidc.'
    : 'Open the newest sign-in link in docferry’s terminal (single use).';
}

/** Where a person without a session can go on; `again` once they have one. */
function linksOf({ openId }: ConsoleApp, again = '/'): [string, string][] {
  const open: [string, string] = [again, again === '/' ? 'Open the overview' : 'Open this page again'];
  return openId === null ? [open] : [['/oidc/start', 'Sign in'], open];
}

/** What was asked for, on this site. */
const addressOf = (c: ConsoleContext): string => pathOf(c) + new URL(c.req.url).search;

/** Leads to a page from the console's own site, so that the browser sends the session along. */
function Onward({ to, title = 'Opening' }: { to: string; title?: string }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="refresh" content={`0;url=${to}`} />
        <title>{`${title} · docferry`}</title>
        <link rel="icon" href="/icon.svg" />
      </head>
      <body>
        <main>
          <h1>{title}</h1>
          <p>
            <a href={to}>Go on</a>
          </p>
        </main>
      </body>
    </html>
  );
}
