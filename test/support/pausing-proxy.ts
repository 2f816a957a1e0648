import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface PausingProxy {
  url: string;
  /** Settles when the request that is kept back has come; never when there is none. */
  paused: Promise<void>;
  /** Passes on what is kept back. */
  goOn(): void;
  stop(): Promise<void>;
}

/** Passes requests on to a server, but keeps the one that follows the first `whole` back until it is told. */
export async function pausingProxy(target: string, whole: number): Promise<PausingProxy> {
  const { hostname, port } = new URL(target);
  const pause = gate();
  const release = gate();
  let seen = 0;
  const server = createServer(async (request, response) => {
    seen += 1;
    if (seen === whole + 1) {
      pause.open();
      await release.opened;
    }
    const { method, headers, url: path } = request;
    const onward = httpRequest({ host: hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    paused: pause.opened,
    goOn: release.open,
    async stop() {
      release.open();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}
