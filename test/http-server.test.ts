import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { clientOf, listen, Slots, stopListening } from '../src/http-server.ts';

const silent = (): Server => {
  const server = createServer(() => {});
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
};

it('says where it listens, and names the port that is taken and the flag that chooses another', async () => {
  const { port, url } = await listen(silent(), { host: '127.0.0.1', port: 0 });
  expect(url).toBe(`http://127.0.0.1:${port}`);
  await expect(listen(silent(), { host: '127.0.0.1', port, flag: '--bundle-port' })).rejects.toMatchObject({
    code: 'PortTaken',
    message: `port ${port} on 127.0.0.1 is in use`,
    hint: 'stop that program, or choose another port with --bundle-port',
  });
});

it('cuts an answer that has not ended in its time, and frees the port', async () => {
  const server = silent();
  const { port, url } = await listen(server, { host: '127.0.0.1', port: 0 });
  const asked = new Promise((resolve) => server.once('request', resolve));
  const answer = fetch(url).catch((error: unknown) => error);
  await asked;
  await stopListening(server, 10);
  expect(await answer).toBeInstanceOf(Error);
  expect((await listen(silent(), { host: '127.0.0.1', port })).port).toBe(port);
});

it('lets an answer end that is under way', async () => {
  let end = () => {};
  const server = createServer((_request, response) => {
    end = () => response.end('whole');
    response.write('the ');
  });
  const { url } = await listen(server, { host: '127.0.0.1', port: 0 });
  const answer = await fetch(url);
  const stopped = stopListening(server);
  end();
  expect(await answer.text()).toBe('the whole');
  await stopped;
});

it('lets the second answer end of two requests that came at once', async () => {
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/first') response.end('first');
    else held.push(response);
  });
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  const client = connect(port, '127.0.0.1');
  let said = '';
  client.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const closed = once(client, 'close');
  client.write(['/first', '/second'].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
  await expect.poll(() => said).toContain('first');
  const stopped = stopListening(server);
  await sleep(200);
  held[0]?.end('second');
  await Promise.all([stopped, closed]);
  expect(said).toContain('second');
});

it.each(['', 'GET / HTTP/1.1\r\nHost: '])('ends though a client has sent no more than %j', async (sent) => {
  const server = silent();
  const { port } = await listen(server, { host: '127.0.0.1', port: 0 });
  const connected = once(server, 'connection');
  const client = connect(port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  client.on('error', () => {});
  const closed = once(client, 'close');
  client.write(sent);
  await connected;
  await stopListening(server);
  await closed;
});

it('limits slots in total and by client, and frees each once', () => {
  const slots = new Slots({ total: 3, perClient: 2 });
  const [first, second] = [slots.take('a'), slots.take('a')];
  expect([first, second].every((release) => release !== null)).toBe(true);
  expect(slots.take('a')).toBeNull();
  const other = slots.take('b');
  expect(other).not.toBeNull();
  expect(slots.take('c')).toBeNull();
  first?.();
  first?.();
  expect(slots.take('c')).not.toBeNull();
  expect(slots.take('d')).toBeNull();
  other?.();
  second?.();
  expect([slots.take('a'), slots.take('a')].every((release) => release !== null)).toBe(true);
  expect(slots.take('a')).toBeNull();
});

it('counts all addresses of an IPv6 client as one, and an IPv4 address however it is written', () => {
  expect(clientOf('2001:db8:1:2::1')).toBe(clientOf('2001:db8:1:2:ffff::9'));
  expect(clientOf('2001:db8:1:2::1')).not.toBe(clientOf('2001:db8:1:3::1'));
  expect(clientOf('fe80::1%eth0')).toBe(clientOf('fe80::2%eth0'));
  expect(clientOf('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(clientOf(undefined)).toBe('');
});
