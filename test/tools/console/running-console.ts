import { type Agent, request } from 'node:http';
import { onTestFinished } from 'vitest';
import type { ConsoleOptions } from '../../../src/console/app-context.ts';
import { type RunningConsole, startConsole } from '../../../src/console/console.tsx';
import type { Names, Roles } from '../../../src/console/security/sessions.ts';
import { type Effects, fakeSetting } from './fake-setting.ts';

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Roles of these names: everybody may look unless `viewers` are given, and the others are nobody. */
export function roles(given: { [Role in keyof Roles]?: Partial<Names> } = {}): Roles {
  const nobody = { groups: [], logins: [] };
  const { viewers, operators, contacts } = given;
  return {
    viewers: viewers === undefined ? null : { ...nobody, ...viewers },
    operators: { ...nobody, ...operators },
    contacts: { ...nobody, ...contacts },
  };
}

/** A console on a free port, over what is in memory unless another setting is given. */
export async function runningConsole(
  options: Partial<ConsoleOptions> = {},
): Promise<RunningConsole & { signInUrl: string; effects: Effects; links: string[] }> {
  const effects: Effects = { calls: [], auditEntries: [] };
  const links: string[] = [];
  const running = await startConsole({
    setting: fakeSetting(effects),
    host: '127.0.0.1',
    port: 0,
    url: null,
    previewUrl: null,
    write: true,
    idleMs: 60_000,
    lifetimeMs: 600_000,
    roles: roles(),
    proxy: null,
    openId: null,
    link: true,
    onNewLink: (link) => links.push(link),
    ...options,
  });
  onTestFinished(() => running.stop());
  return { ...running, signInUrl: running.signInUrl ?? '', effects, links };
}

/** A request as any program may send it, with any headers. */
export function ask(
  { port }: { port: number },
  path: string,
  {
    method = 'GET',
    headers = {},
    body,
    agent = false,
  }: { method?: string; headers?: Record<string, string>; body?: string; agent?: Agent | false } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    // A text would go out together with the headers, whose bytes above 127 would be encoded once more.
    sent.end(body === undefined ? body : Buffer.from(body));
  });
}

/** Signs in by the link, and returns the cookie. */
export async function signIn(
  console: Pick<RunningConsole, 'port' | 'signInUrl'>,
  link = console.signInUrl ?? '',
): Promise<string> {
  const { pathname, search } = new URL(link);
  const { headers } = await ask(console, pathname + search);
  return String(headers['set-cookie']?.[0]).split(';')[0] ?? '';
}

/** Sends a form as a page of the console would. */
export async function send(
  console: { port: number },
  path: string,
  fields: Record<string, string> | URLSearchParams,
  { cookie, headers = {} }: { cookie: string; headers?: Record<string, string> },
): Promise<Answer> {
  return ask(console, path, {
    method: 'POST',
    headers: {
      cookie,
      origin: `http://127.0.0.1:${console.port}`,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  });
}

/** The token that every form of the session carries. */
export async function formToken(console: { port: number }, cookie: string): Promise<string> {
  const { text } = await ask(console, '/', { headers: { cookie } });
  return /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
}
