import { connect, constants, createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface SilentProxy {
  address: string;
  /** How often each method was called, the unanswered calls included. */
  calls: Map<string, number>;
}

/**
 * Passes gRPC calls on to a server, but never answers those that `isLost` names by method, the number of the call of
 * that method from 1 on, and the request's bytes. Lost calls do not reach the server. Those that are 'cancelled' end at
 * once, as a server ends a call after its deadline. Stops with the test.
 */
export async function silentProxy(
  target: string,
  isLost: (method: string, number: number, request: Buffer) => boolean | 'cancelled',
): Promise<SilentProxy> {
  const calls = new Map<string, number>();
  const upstream = connect(`http://${target}`);
  const sessions: ServerHttp2Session[] = [];
  const server = createServer();
  server.on('session', (session) => sessions.push(session));
  server.on('stream', async (stream, headers) => {
    stream.on('error', () => {});
    const method = String(headers[':path']).split('/').at(-1) ?? '';
    const number = (calls.get(method) ?? 0) + 1;
    calls.set(method, number);
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece);
    const request = Buffer.concat(pieces);
    const lost = isLost(method, number, request);
    if (lost === 'cancelled') stream.close(constants.NGHTTP2_CANCEL);
    if (lost) return;
    const { ':authority': _, 'grpc-timeout': __, ...kept } = headers;
    const onward = upstream.request(kept);
    onward.on('error', () => stream.destroy());
    onward.on('response', (answer, flags) => {
      if (stream.destroyed) return;
      // An answer without a body has its status in the headers.
      const endStream = (flags & 1) === 1;
      stream.respond(answer, { endStream, waitForTrailers: !endStream });
      let trailers = {};
      onward.on('trailers', (found) => {
        trailers = found;
      });
      stream.on('wantTrailers', () => stream.sendTrailers(trailers));
      if (!endStream) onward.pipe(stream);
    });
    onward.end(request);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    upstream.destroy();
    for (const session of sessions) session.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}
