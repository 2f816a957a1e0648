import type { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { Slots } from '../../http-server.ts';
import type { ConsoleApp, ConsoleContext, ConsoleEnv } from '../app-context.ts';

const beatMs = 15_000;
const mostStreams = { total: 512, perClient: 32 };

interface Listening {
  listen(onChange: () => void): () => void;
}

/** Says when what a page shows has changed, until the browser leaves or the session ends. */
export function addEventRoute(hono: Hono<ConsoleEnv>, app: ConsoleApp): void {
  const streams = new Slots(mostStreams);
  hono.get('/events', (c) => {
    const { cookie, session } = c.get('signedIn');
    const reading = readingOf(c, app);
    if (reading === null) return c.body(null, 204);
    // A stream that no browser reads would last as long as the session.
    if (c.req.method === 'HEAD') return c.body(null, 200, { 'Content-Type': 'text/event-stream' });
    const release = streams.take(session.identity.login);
    if (release === null) {
      c.header('Connection', 'close');
      // 204 tells a browser not to try again: the page stays as it is.
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
      const stopListening = reading.listen(() => void stream.writeSSE({ event: 'change', data: '' }));
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
      stopListening();
      for (const ending of endings) ending.removeEventListener('abort', end);
      release();
    });
  });
}

function both(...readings: readonly Listening[]): Listening {
  return {
    listen(onChange) {
      const ends = readings.map((reading) => reading.listen(onChange));
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

function readingOf(c: ConsoleContext, { reader }: ConsoleApp): Listening | null {
  const { of, org = '', name = '' } = c.req.query();
  if (of === 'overview') return reader.overview;
  if (of === 'budget') return reader.budgets;
  const site = of === 'site' ? reader.knownSite(org, name) : null;
  if (site !== null) return reader.site(site);
  const project = of === 'project' ? reader.knownProject(org, name) : null;
  return project === null ? null : both(reader.project(project), reader.charts.of(project));
}
