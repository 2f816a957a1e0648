import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { MessagePage } from '../pages/message-page.tsx';
import { pageHeaders } from '../security/page-headers.ts';

/** A browser that still sends would not read an answer on a connection that is closed under it. */
const lingerMs = 2_000;

const statuses: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Answers what never became a request, such as a search of megabytes in an address, with a page that says so. */
export function answerOverlong(server: Server): void {
  const answered = new WeakSet<Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (answered.has(socket)) return;
    answered.add(socket);
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const status = statuses[error.code ?? ''] ?? 400;
    socket.end(answer(status));
    // What still comes is read and thrown away for a moment.
    socket.removeAllListeners('data').resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
}

function answer(status: number): string {
  const page =
    status === 431 ? (
      <MessagePage
        title="Too long"
        message="The address is longer than 16 KiB, the most the console accepts. Nothing was read or done."
        hint="Go back and search for fewer words."
      />
    ) : (
      <MessagePage title="Not understood" message="The console could not read this request. Nothing was done." />
    );
  const body = Buffer.from(`<!doctype html>\n${String(page)}`);
  const headers = {
    ...pageHeaders,
    'Content-Type': 'text/html; charset=UTF-8',
    'Content-Length': body.length,
    Connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body.toString()}`;
}
