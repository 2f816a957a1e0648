import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BreakingProxy {
  url: string;
  /** Requests that came so far. */
  requests(): number;
  stop(): Promise<void>;
}

/**
 * Passes the first `whole` requests on to a server and none after that. The one that follows is either not passed on,
 * or passed on with its answer lost: what a process that dies cannot tell apart. `onBreak` is called at that moment.
 */
export async function breakingProxy(
  target: string,
  whole: number,
  next: 'not sent' | 'answer lost',
  onBreak: () => void = () => {},
): Promise<BreakingProxy> {
  const { hostname, port } = new URL(target);
  let seen = 0;
  const server = createServer((request, response) => {
    seen += 1;
    const number = seen;
    if (number > whole + (next === 'answer lost' ? 1 : 0)) {
      onBreak();
      return void request.socket.destroy();
    }
    const { method, headers, url: path } = request;
    const onward = httpRequest({ host: hostname, port, method, path, headers }, (answer) => {
      if (number > whole) {
        answer.resume().on('end', () => {
          onBreak();
          request.socket.destroy();
        });
        return;
      }
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
    requests: () => seen,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
