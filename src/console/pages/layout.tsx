import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { visible } from '../../feedback/report/figure.ts';
import { consoleStyle } from './console-style.ts';
import { liveScript } from './live-script.ts';
import { Token, useLook, type Viewer, When } from './parts.tsx';

interface Layout {
  title: string;
  /** Address of the page's own part of the navigation. */
  at?: string;
  /** Address of the events that announce changes of the page. */
  events?: string;
  children: Child;
}

const parts = [
  ['/', 'Overview'],
  ['/history', 'History'],
  ['/feedback', 'Feedback'],
  ['/schedules', 'Schedules'],
  ['/budget', 'Budget'],
  ['/audit', 'Audit'],
] as const;

/** A whole page around its content. */
export function Page({ title, at, events, children }: Layout) {
  const { viewer, read } = useLook();
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${visible(title)} · docferry`}</title>
        <link rel="icon" href="/icon.svg" />
        <style>{raw(consoleStyle)}</style>
      </head>
      <body data-events={events}>
        <div class="page">
          <a class="unseen skip" href="#content">
            Skip to the content
          </a>
          <header class="top">
            <a class="name" href="/">
              docferry
            </a>
            {viewer !== null && <Navigation viewer={viewer} at={at} />}
          </header>
          <main id="content" tabindex={-1}>
            <h1>
              <bdi>{visible(title)}</bdi>
            </h1>
            {viewer !== null && viewer.note !== null && (
              <div class="notice good" role="status">
                <p>{visible(viewer.note)}</p>
              </div>
            )}
            <div id="aged" data-live>
              {read?.late && <Aged at={read.at} />}
            </div>
            {children}
          </main>
          <footer class="bottom">
            <p>
              {viewer !== null && `${viewer.whyNot ?? `Your actions are logged as “${visible(viewer.login)}”.`} `}
              <span class="zone">Exact times are in UTC.</span>
            </p>
            {viewer !== null && <Keys />}
          </footer>
        </div>
        <script>{raw(liveScript)}</script>
      </body>
    </html>
  );
}

/** That a page is older than it should be. */
function Aged({ at }: { at: number }) {
  return (
    <div class="notice" role="status">
      <p>
        This was read <When at={at} />; a newer reading failed or is late.
      </p>
    </div>
  );
}

function Navigation({ viewer, at }: { viewer: Viewer; at: string | undefined }) {
  return (
    <>
      {/* On a phone a tick shows the pages, which then need no line of their own; without a script too. */}
      <input type="checkbox" id="pages" class="unseen" />
      <label class="pages" for="pages">
        <span class="unseen">Pages: </span>
        {parts.find(([address]) => address === at)?.[1] ?? 'docferry'}
      </label>
      <nav aria-label="Console">
        <ul>
          {parts.map(([address, name]) => (
            <li>
              <a href={address} aria-current={address === at ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <details class="menu who">
        <summary>
          <bdi>{visible(viewer.login)}</bdi>
        </summary>
        <form method="post" action="/sign-out">
          {!viewer.mayAct && <p class="fine">You may only look.</p>}
          <a href="/sessions" aria-current={at === '/sessions' ? 'page' : undefined}>
            Sessions
          </a>
          <Token />
          <button type="submit" class="small">
            Sign out
          </button>
        </form>
      </details>
    </>
  );
}

const keys = [
  ['/', 'search'],
  ['j k', 'next and previous row; Enter opens it'],
  ['x', 'select the row'],
  ['?', 'these keys; Escape closes them'],
] as const;

/** Opened by the script. */
function Keys() {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="facts">
        {keys.map(([key, text]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit" class="small">
          Close
        </button>
      </form>
    </dialog>
  );
}
