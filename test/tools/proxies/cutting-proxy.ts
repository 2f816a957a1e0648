import { connect, createServer, type Server, type Socket } from 'node:net';

interface CuttingProxy {
  url: string;
  /** Connections cut so far. */
  cuts(): number;
  stop(): Promise<void>;
}

/** Passes connections on to a server and cuts each of the first `cuts` after a number of bytes has come back. */
export async function cuttingProxy(target: string, afterBytes: number, cuts: number): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let done = 0;
  const server: Server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let sent = 0;
    const close = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', close).on('close', close);
    }
    client.pipe(upstream);
    upstream.on('data', (chunk) => {
      sent += chunk.length;
      if (sent < afterBytes || done >= cuts) return void client.write(chunk);
      done += 1;
      client.write(chunk.subarray(0, chunk.length - (sent - afterBytes)), close);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const own = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${own}`,
    cuts: () => done,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
