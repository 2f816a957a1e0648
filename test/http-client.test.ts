import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Agent, request } from '../src/http-client.ts';
import { tempFolder } from './tools/bundle/temp-folder.ts';

/** As long as the buffer of a body, whose reader comes after the connection has ended. */
const body = Buffer.alloc(65_536, 7);

async function certificate() {
  const folder = await tempFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...names, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

describe.each(['http', 'https'])('a connection over %s that ends while its body waits', (scheme) => {
  const answers = [
    ['with a length', `content-length: ${body.length}\r\n`, body.length],
    ['without a length', '', body.length],
    ['cut before its length', `content-length: ${2 * body.length}\r\n`, null],
  ] as const;
  it.each(answers)('%s', async (_what, length, whole) => {
    const pair = scheme === 'https' ? await certificate() : null;
    const answer = (socket: Socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\n${length}connection: close\r\n\r\n`);
        socket.end(body);
      });
    };
    const server = pair ? createTlsServer(pair, answer) : createServer(answer);
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const dispatcher = new Agent(pair ? { connect: { ca: pair.cert } } : {});
    onTestFinished(async () => {
      await dispatcher.destroy();
      server.close();
    });
    const { port } = server.address() as { port: number };
    const response = await request(`${scheme}://127.0.0.1:${port}/`, { dispatcher });
    await sleep(150);
    const read = response.body.bytes().then(({ length: bytes }) => bytes);
    if (whole === null) await expect(read).rejects.toMatchObject({ code: 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' });
    else expect(await read).toBe(whole);
  });
});
