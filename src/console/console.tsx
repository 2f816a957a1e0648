import { setMaxListeners } from 'node:events';
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { matchedRoutes } from 'hono/route';
import { streamSSE } from 'hono/streaming';
import { keepConnections, listen, type RunningServer, requestLimits, Slots, stopListening } from '../http-server.ts';
import { traced } from '../temporal/traces.ts';
import type { ConsoleApp, ConsoleContext, ConsoleEnv, ConsoleOptions } from './app-context.ts';
import { OpenIdSignIn } from './identity/openid.ts';
import { ProxyIdentity } from './identity/proxy-identity.ts';
import { MessagePage } from './pages/message-page.tsx';
import { Previews } from './previews.ts';
import { ConsoleReader } from './readings/console-reader.ts';
import { addActRoutes, refusedAct } from './routes/act-routes.tsx';
import { answerOverlong, failurePage, notFound, page } from './routes/answers.tsx';
import { addFeedbackRoutes } from './routes/feedback-routes.tsx';
import { addAuditRoute, addReadRoutes } from './routes/read-routes.tsx';
import { actorOf, addSignInRoutes, signedIn } from './routes/sign-in.tsx';
import { icon, pageHeaders } from './security/page-headers.ts';
import { knownHosts, refusalOf } from './security/request-guard.ts';
import { Sessions, SignInLink } from './security/sessions.ts';

const beatMs = 15_000;
const mostStreams = { total: 512, perClient: 32 };

interface Listening {
  listen(onChange: () => void): () => void;
}

/** Says when what a page shows has changed, until the browser leaves or the session ends. */
function addEventRoute(hono: Hono<ConsoleEnv>, app: ConsoleApp): void {
  const streams = new Slots(mostStreams);
  hono.get('/events', (c) => {
    const { cookie, session } = c.get('signedIn');
    const readings = readingsOf(c, app);
    if (readings.length === 0) return c.body(null, 204);
    // A stream that no browser reads would last as long as the session.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
    const release = streams.take(session.identity.login);
    if (release === null) {
      c.header('Connection', 'close');
      // 204 tells a browser not to try again: the page says so, and tries in a minute.
      return c.body(null, 204);
    }
    // Proxies such as nginx would hold events back otherwise.
    c.header('X-Accel-Buffering', 'no');
    return streamSSE(c, async (stream) => {
      const ended = new AbortController();
      const end = () => ended.abort();
      stream.onAbort(end);
      const endings = [app.closing, session.ended];
      for (const ending of endings) ending.addEventListener('abort', end, { once: true });
      if (session.ended.aborted) end();
      const stops = readings.map((reading) =>
        reading.listen(() => void stream.writeSSE({ event: 'change', data: '' })),
      );
      const beat = setInterval(() => {
        if (app.sessions.lasts(cookie)) void stream.write(': \n\n');
        else end();
      }, beatMs);
      await stream.write('retry: 5000\n\n');
      await new Promise<void>((resolve) => {
        if (ended.signal.aborted) resolve();
        ended.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      clearInterval(beat);
      for (const stop of stops) stop();
      for (const ending of endings) ending.removeEventListener('abort', end);
      release();
    });
  });
}

function readingsOf(c: ConsoleContext, { reader }: ConsoleApp): Listening[] {
  const { of, org = '', name = '' } = c.req.query();
  if (of === 'overview') return [reader.overview];
  if (of === 'budget') return [reader.budgets];
  const site = of === 'site' ? reader.knownSite(org, name) : null;
  if (site !== null) return [reader.sites.of(site)];
  const project = of === 'project' ? reader.knownProject(org, name) : null;
  return project === null ? [] : [reader.projects.of(project), reader.charts.of(project)];
}

export interface RunningConsole extends RunningServer {
  /** The address that signs in the person who opens it first; null where there is no such link. */
  signInUrl: string | null;
  /** The patterns of the pages' addresses, e.g. `/sites/:org/:domain`. */
  pages: readonly string[];
  /** Paths that take forms, as patterns: what must be guarded. */
  takesForms: readonly string[];
}

const longestForm = 512 * 1024;
/** More than any page sends. A form that is kept is rendered again, field by field. */
const mostFields = 4_000;
const connections = 1_536;
/** Most requests under way: the connections beyond both tell further clients that there is no room. */
const requestsUnderWay = { total: 960, perClient: 64 };
/** A client is a preview here: its requests name no login, and all may come from one proxy. */
const previewRequests = { total: 512, perClient: 128 };

/** Serves the console until it is stopped. Throws `PortTaken`. */
export async function startConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const closing = new AbortController();
  // As many as there are streams of events.
  setMaxListeners(0, closing.signal);
  const { host, url } = options;
  const reader = new ConsoleReader(options.setting, options.times);
  let hono: Hono<ConsoleEnv> | null = null;
  const server = createAdaptorServer({
    // Requests cannot come before the port is known, and with it the addresses that are let in.
    fetch: (request, env) => hono?.fetch(request, env) ?? new Response(null, { status: 503 }),
    overrideGlobalObjects: false,
    serverOptions: requestLimits,
  }) as Server;
  keepConnections(server, connections);
  answerOverlong(server);
  const { port, url: local } = await listen(server, { host, port: options.port, flag: '--port or --console-port' });
  const address = url ?? local.replace('//0.0.0.0:', '//localhost:');
  const known = knownHosts({ host, port, url });
  // Cookies know no ports: consoles on two ports of a machine would take each other's. `__Host-` keeps out sister sites'.
  const cookieOf = (of: string) => (known.secure ? `__Host-docferry_${of}` : `docferry_${of}_${port}`);
  const previews = new Previews({
    bundles: reader.installation.bundles,
    previewUrl: options.previewUrl,
    url: address,
    host,
    port,
    known,
  });
  const app: ConsoleApp = {
    options,
    reader,
    previews,
    known,
    sessions: new Sessions(options),
    link:
      options.link && options.proxy === null && options.openId === null
        ? new SignInLink(address, options.onNewLink)
        : null,
    proxy: options.proxy && new ProxyIdentity(options.proxy, options.roles),
    openId: options.openId && new OpenIdSignIn(options.openId, address, options.roles),
    cookieName: cookieOf('console'),
    signInCookie: cookieOf('sign_in'),
    closing: closing.signal,
  };
  try {
    await previews.start();
  } catch (error) {
    await stopListening(server, 0);
    throw error;
  }
  hono = appOf(app);
  return {
    url: address,
    port,
    signInUrl: app.link?.url ?? null,
    pages: [...new Set(hono.routes.filter(({ method }) => method === 'GET').map(({ path }) => path))],
    takesForms: hono.routes.flatMap(({ method, path }) => (method === 'POST' ? [path] : [])),
    async stop() {
      closing.abort();
      await stopListening(server, 0);
      await previews.stop();
      await reader.installation.close();
    },
  };
}

function appOf(app: ConsoleApp): Hono<ConsoleEnv> {
  const hono = new Hono<ConsoleEnv>();
  hono.use(async (c, next) => {
    if (app.previews.tokenIn(c.req.header('host')) !== null) return next();
    for (const [name, value] of Object.entries(pageHeaders)) c.header(name, value);
    const request = { method: c.req.method, header: (name: string) => c.req.header(name) };
    const refusal = refusalOf(request, app.known);
    if (refusal === null) return next();
    const { title, message, status } = refusal;
    return page(c, app, <MessagePage title={title} message={message} />, { status });
  });
  const underWay = new Slots(requestsUnderWay);
  const ofPreviews = new Slots(previewRequests);
  // Before the body is read, which may come byte by byte.
  hono.use(async (c, next) => {
    const token = app.previews.tokenIn(c.req.header('host'));
    const release = token === null ? underWay.take(actorOf(c, app)) : ofPreviews.take(token);
    if (release !== null) {
      c.env.outgoing.once('close', release);
      return next();
    }
    c.header('Connection', 'close');
    const message = 'Too many of your requests are in progress. Nothing was done.';
    return page(c, app, <MessagePage title="Too many at once" message={message} />, { status: 429 });
  });
  hono.use(async (c, next) => (await app.previews.answer(c.req.raw)) ?? next());
  const tooLong = (c: Context) => {
    const message = 'The form is longer than the console accepts. Nothing was done.';
    return c.html(`<!doctype html>\n${String(<MessagePage title="Too long" message={message} />)}`, 413);
  };
  hono.use(bodyLimit({ maxSize: longestForm, onError: tooLong }));
  hono.get('/icon.svg', (c) => c.body(icon, 200, { 'Content-Type': 'image/svg+xml' }));
  hono.use(async (c, next) => {
    if (c.req.method !== 'POST') return next();
    const form = new URLSearchParams(await c.req.text());
    if (form.size > mostFields) return tooLong(c);
    c.set('form', form);
    return next();
  });
  addSignInRoutes(hono, app);
  // What a person does begins a trace; what is only read would hide that.
  hono.use((c, next) => {
    const name = `console:${matchedRoutes(c).at(-1)?.path}`;
    return c.req.method === 'POST' ? traced(name, { parent: null }, next) : next();
  });
  hono.use(async (c, next) => {
    const found = await signedIn(c, app);
    if (found instanceof Response) return found;
    c.set('signedIn', found);
    return (c.req.method === 'POST' && refusedAct(c, app)) || next();
  });
  addAuditRoute(hono, app);
  addEventRoute(hono, app);
  addReadRoutes(hono, app);
  addFeedbackRoutes(hono, app);
  addActRoutes(hono, app);
  hono.notFound((c) => notFound(c, app));
  hono.onError((error, c) => failurePage(c, app, error, '/'));
  return hono;
}
