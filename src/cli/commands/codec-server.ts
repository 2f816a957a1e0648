import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { Payload, PayloadCodec } from '@temporalio/common';
import type { Config } from '../../config/config.ts';
import { ConfigError } from '../../config/secrets.ts';
import { listen, requestLimits, stopListening } from '../../http-server.ts';
import { isLoopback } from '../../rules/proxy.ts';
import { codecOf, EncryptionKeyMissing, isEncoded } from '../../temporal/encryption.ts';
import { type CommandContext, type CommandFile, type ExitCode, loadContextConfig } from '../context.ts';
import { port } from '../flags.ts';
import { never, withParts } from '../parts.ts';

export default {
  'codec-server': (command, run) =>
    command
      .option('--port <port>', 'port to listen on', port('--port'), 8081)
      .option('--host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
      .option('--ui <url>', 'address of the Temporal UI, whose pages may ask; default: console.temporalUi')
      .action(run(serveCodec)),
} satisfies CommandFile;

interface CodecFlags {
  port: number;
  host: string;
  ui?: string;
}

async function serveCodec(context: CommandContext, { port, host, ui }: CodecFlags): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context);
    const { temporal, file } = config;
    if (!isEncoded(temporal)) {
      const hint = 'add temporal.encryption or temporal.codec, the same as for the workers';
      throw new ConfigError(`${file} says nothing of encryption`, [], hint);
    }
    const setting = {
      codec: await codecOf(temporal),
      token: temporal.codecToken?.read() ?? randomBytes(16).toString('hex'),
      origin: uiOrigin(config, ui),
    };
    const server = codecServer(setting);
    const { url } = await listen(server, { host, port });
    parts.add({ name: 'the codec server', ended: never, stop: () => stopListening(server, 0) });
    if (!isLoopback(host))
      output.warn(`decrypted payloads travel unencrypted: put a proxy with TLS in front of ${url}`);
    if (setting.origin === null) output.note('no page may ask, only programs: name the Temporal UI with --ui');
    const endpoint = `${url}/${setting.token}`;
    const text = [
      `Temporal UI: ${endpoint}`,
      `command line: temporal --codec-endpoint ${url} --codec-auth "Bearer ${setting.token}" …`,
      'codec-server: ready',
    ].join('\n');
    output.result({ ready: true, url, endpoint, origin: setting.origin }, text);
    await parts.untilAborted(interrupted);
  });
}

function uiOrigin({ console: { temporalUi } }: Config, ui: string | undefined): string | null {
  const address = ui ?? temporalUi;
  if (address === null) return null;
  if (URL.canParse(address)) return new URL(address).origin;
  throw new ConfigError(`--ui is ${JSON.stringify(address)}: expected an address such as http://127.0.0.1:8233`);
}

interface CodecSetting {
  codec: PayloadCodec;
  /** Sent as `Authorization: Bearer …`, or as the first part of the path: the Temporal UI knows only the path. */
  token: string;
  /** Whose pages may ask; null for none. */
  origin: string | null;
}

/** Payloads as JSON has them: bytes in base64. */
interface JsonPayload {
  metadata?: Record<string, string>;
  data?: string;
}

const longestBody = 32 * 1024 ** 2;

/** `POST …/encode` and `…/decode`, as the Temporal UI and command line ask. */
export function codecServer({ codec, token, origin }: CodecSetting) {
  const isRight = (given: string) => timingSafeEqual(digest(given), digest(token));
  return createServer(requestLimits, async (request, response) => {
    const [, path = '', verb = path] = /^\/([^/]*)(?:\/([^/]*))?$/.exec(request.url ?? '') ?? [];
    const cors = {
      'Access-Control-Allow-Origin': origin ?? 'null',
      'Access-Control-Allow-Headers': 'Authorization, Content-Type, X-Namespace',
      'Access-Control-Allow-Methods': 'POST',
      Vary: 'Origin',
    };
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...(origin && cors) };
    const answer = (status: number, body: object) => response.writeHead(status, headers).end(JSON.stringify(body));
    const { origin: page, authorization = '' } = request.headers;
    if (page !== undefined && page !== origin) return answer(403, { message: 'not from a page of the Temporal UI' });
    if (request.method === 'OPTIONS') return answer(200, {});
    if (!isRight(authorization.replace(/^Bearer /, '')) && !isRight(path))
      return answer(401, { message: 'wrong token' });
    if (request.method !== 'POST' || (verb !== 'encode' && verb !== 'decode'))
      return answer(404, { message: 'no such thing' });
    try {
      const payloads = (await payloadsIn(request)).map(fromJson);
      const done = await Promise.all(payloads.map((payload) => translate(codec, verb, payload)));
      return answer(200, { payloads: done.map(toJson) });
    } catch {
      return answer(400, { message: 'expected {"payloads": […]}' });
    }
  });
}

const digest = (text: string) => createHash('sha256').update(text).digest();

async function payloadsIn(request: IncomingMessage): Promise<JsonPayload[]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > longestBody) throw new RangeError('too long');
    chunks.push(chunk);
  }
  const body: { payloads?: JsonPayload[] } = JSON.parse(Buffer.concat(chunks).toString());
  return body.payloads ?? [];
}

/** What has no key shows that in its place, and the others beside it stay readable. */
async function translate(codec: PayloadCodec, verb: 'encode' | 'decode', payload: Payload): Promise<Payload> {
  try {
    const [done = payload] = await codec[verb]([payload]);
    return done;
  } catch (error) {
    if (!(error instanceof EncryptionKeyMissing)) throw error;
    return { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(error.message)) };
  }
}

function fromJson({ metadata = {}, data = '' }: JsonPayload): Payload {
  const fields = Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]);
  return { metadata: Object.fromEntries(fields), data: Buffer.from(data, 'base64') };
}

function toJson({ metadata, data }: Payload): JsonPayload {
  const fields = Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]);
  return { metadata: Object.fromEntries(fields), data: Buffer.from(data ?? []).toString('base64') };
}
