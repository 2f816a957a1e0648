import {
  connect,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** A call to Temporal that waits at the proxy. */
export interface HeldCall {
  request: Buffer;
  /** The common name in the client's certificate. */
  certified: string | undefined;
  /** Passes it on. */
  pass(): void;
  /** Answers that the server does not know the client. */
  refuse(): void;
}

export interface HoldingProxy {
  address: string;
  /** Loses every connection, and every new one until `heal`. */
  cut(): void;
  heal(): void;
  stop(): Promise<void>;
}

/** Passes gRPC calls, perhaps through TLS, on to a server, but hands those that `holds` names to it: they wait until they are passed on. */
export async function holdingProxy(
  target: string,
  holds: (method: string, headers: IncomingHttpHeaders, call: HeldCall) => boolean,
  tls?: SecureServerOptions,
): Promise<HoldingProxy> {
  let isCut = false;
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let upstream = connect(`http://${target}`);
  const server = tls ? createSecureServer(tls) : createServer();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    if (isCut) socket.destroy();
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session)).on('error', () => {});
  });
  server.on('stream', async (stream, headers) => {
    stream.on('error', () => {});
    const pieces: Buffer[] = [];
    try {
      for await (const piece of stream) pieces.push(piece);
    } catch {
      return;
    }
    const request = Buffer.concat(pieces);
    const pass = () => {
      if (stream.destroyed) return;
      const { ':authority': _, ...kept } = headers;
      const onward = upstream.request(kept);
      onward.on('error', () => stream.destroy());
      stream.on('close', () => onward.close());
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
    };
    const method = String(headers[':path']).split('/').at(-1) ?? '';
    const refuse = () =>
      stream.respond({ 'content-type': 'application/grpc', 'grpc-status': '16' }, { endStream: true });
    const { socket } = stream.session ?? {};
    const certified = socket instanceof TLSSocket ? socket.getPeerCertificate().subject?.CN : undefined;
    if (
      !holds(method, headers, { request, certified: Array.isArray(certified) ? certified[0] : certified, pass, refuse })
    )
      pass();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    isCut = true;
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
    upstream.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    heal() {
      isCut = false;
      upstream = connect(`http://${target}`);
    },
    async stop() {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
