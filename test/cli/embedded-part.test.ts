import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { guardUi } from '../../src/cli/embedded.ts';
import { ask } from '../tools/console/running-console.ts';

/** A guard in front of what stands for Temporal's UI. */
async function guarded() {
  const asked: string[] = [];
  const ui = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const cookies = ['_csrf=a; Path=/', 'b=c'];
    response.writeHead(201, { 'set-cookie': cookies, 'content-type': 'application/json' });
    void textOf(request).then((text) => response.end(`${text}!`));
  });
  await new Promise<void>((resolve) => ui.listen(0, '127.0.0.1', resolve));
  const guard = await guardUi(new URL(`http://127.0.0.1:${(ui.address() as AddressInfo).port}`), 0);
  const stopUi = () => void ui.close().closeAllConnections();
  onTestFinished(async () => {
    await guard.stop();
    stopUi();
  });
  return { guard, asked, stopUi };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return text;
}

it('passes on what pages of the UI ask for, with bodies and cookies', async () => {
  const { guard, asked } = await guarded();
  for (const name of ['localhost', '127.0.0.1', '[::1]']) {
    expect(await ask(guard, '/a?b=%2F', { headers: { host: `${name}:${guard.port}` } })).toMatchObject({ status: 201 });
  }
  const headers = { host: `127.0.0.1:${guard.port}`, origin: guard.url, 'sec-fetch-site': 'same-origin' };
  const sent = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: '{"x":"é"}' };
  const answer = await ask(guard, '/api/v1/x', sent);
  expect(answer).toMatchObject({ status: 201, text: '{"x":"é"}!' });
  expect(answer.headers['set-cookie']).toEqual(['_csrf=a; Path=/', 'b=c']);
  expect(asked).toEqual([...Array(3).fill('GET /a?b=%2F'), 'POST /api/v1/x']);
});

it('answers to no other name, and to no page of another site', async () => {
  const { guard, asked } = await guarded();
  for (const host of [
    'evil.example',
    `evil.example:${guard.port}`,
    `127.0.0.1.evil.example:${guard.port}`,
    '127.0.0.1',
  ]) {
    expect(await ask(guard, '/api/v1/namespaces', { headers: { host } })).toMatchObject({ status: 421 });
  }
  const host = `127.0.0.1:${guard.port}`;
  for (const headers of [
    {},
    { origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'null' },
  ]) {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await ask(guard, '/api/v1/x', { method, headers: { host, ...headers } });
      expect([method, answer.status]).toEqual([method, 403]);
    }
  }
  expect(asked).toEqual([]);
});

it('says that the UI does not answer, and names the flag when its port is taken', async () => {
  const { guard, stopUi } = await guarded();
  stopUi();
  const headers = { host: `127.0.0.1:${guard.port}` };
  expect(await ask(guard, '/', { headers })).toMatchObject({ status: 502 });
  await expect(guardUi(new URL('http://127.0.0.1:9'), guard.port)).rejects.toMatchObject({
    code: 'PortTaken',
    hint: expect.stringContaining('--ui-port'),
  });
});
