import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runningConsole } from '../../tools/console/running-console.ts';

/** Sends bytes as they are, and returns all that comes back. */
function exchange(port: number, sent: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(sent));
    socket.setEncoding('utf8');
    socket.on('data', (piece: string) => {
      text += piece;
    });
    socket.on('end', () => {
      socket.destroy();
      resolve(text);
    });
    socket.on('error', reject);
  });
}

describe('what never becomes a request', () => {
  it('is answered with a page that says what to do: a search of 10 MB in the address', async () => {
    const { port } = await runningConsole();
    const text = await exchange(port, `GET /feedback?q=${'x'.repeat(10_000_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 431 /);
    expect(text).toContain("Content-Security-Policy: default-src 'none'");
    expect(text).toContain('search for fewer words');
  });

  it('is answered when it is no HTTP at all', async () => {
    const { port } = await runningConsole();
    expect(await exchange(port, '\u0000nothing\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [\s\S]*could not read this request/);
  });
});
