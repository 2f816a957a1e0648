import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What happens to the requests, numbered from 1 in order of arrival. */
interface Course {
  /** Before a request is passed on. False drops it and cuts its connection. */
  sends(number: number): boolean | Promise<boolean>;
  /** Before its answer is passed back. False drops the answer and cuts the connection. */
  answers?(number: number): boolean;
  /** Before a connection is cut. */
  onCut?(): void;
}

export interface NumberedProxy {
  url: string;
  stop(): Promise<void>;
}

/** Passes requests on to a server as `course` says. */
export async function numberedProxy(target: string, course: Course): Promise<NumberedProxy> {
  const { hostname, port } = new URL(target);
  let seen = 0;
  const server = createServer(async (request, response) => {
    seen += 1;
    const number = seen;
    const cut = () => {
      course.onCut?.();
      request.socket.destroy();
    };
    if (!(await course.sends(number))) return cut();
    const { method, headers, url: path } = request;
    const onward = httpRequest({ host: hostname, port, method, path, headers }, (answer) => {
      if (course.answers?.(number) === false) return void answer.resume().on('end', cut);
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
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
