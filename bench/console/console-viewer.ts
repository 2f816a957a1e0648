import { Agent, get, type IncomingMessage } from 'node:http';

/** A session of the console, with its cookie and the login that a proxy would send. */
export interface BenchSession {
  origin: string;
  headers: Record<string, string>;
}

/** A connection for each request: the server may close one that is kept just when it is used again. */
const viewers = new Agent({ keepAlive: false });
/** One connection, as a browser keeps it. */
const one = new Agent({ keepAlive: true, maxSockets: 1 });

/** A page, and the address that tells of its changes. */
export interface ViewedPage {
  path: string;
  events: string;
}

export async function signIn(origin: string, login: string): Promise<BenchSession> {
  const headers = { 'x-user': login };
  const answer = await answerTo(`${origin}/`, headers, viewers);
  answer.resume();
  const cookie = answer.headers['set-cookie']?.[0]?.split(';')[0];
  if (cookie === undefined) throw new Error(`nobody is signed in: ${answer.statusCode}`);
  return { origin, headers: { ...headers, cookie } };
}

/** Milliseconds until the first byte of the body, and its whole length. */
export async function firstByte(
  { origin, headers }: BenchSession,
  path: string,
): Promise<{ ms: number; bytes: number }> {
  const begun = performance.now();
  const answer = await answerTo(`${origin}${path}`, headers, one);
  let ms = 0;
  let bytes = 0;
  for await (const piece of answer) {
    if (bytes === 0) ms = performance.now() - begun;
    bytes += (piece as Buffer).length;
  }
  if (answer.statusCode !== 200) throw new Error(`${path} answers ${answer.statusCode}`);
  return { ms, bytes };
}

/** Looks at a page as a browser does: loads it, and again whenever its events say so. Returns how to leave. */
export async function look(
  { origin, headers }: BenchSession,
  { path, events }: ViewedPage,
  onLoad: () => void,
): Promise<() => void> {
  const load = async () => {
    (await answerTo(`${origin}${path}`, { ...headers, 'x-docferry-live': '1' }, viewers)).resume();
    onLoad();
  };
  await load();
  const stream = await answerTo(`${origin}${events}`, headers, viewers);
  if (stream.statusCode !== 200) throw new Error(`${events} answers ${stream.statusCode}`);
  stream.setEncoding('utf8').on('data', (text: string) => {
    if (text.includes('event: change')) void load();
  });
  stream.on('error', () => {});
  return () => void stream.destroy();
}

function answerTo(address: string, headers: Record<string, string>, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(address, { headers, agent }, resolve).on('error', reject);
  });
}
