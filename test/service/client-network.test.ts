import { once } from 'node:events';
import net from 'node:net';
import { Readable } from 'node:stream';
import tls from 'node:tls';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Aborted, MalformedResponse, NetworkError, ServiceError } from '../../src/service/errors.ts';
import { WithoutSecret } from '../../src/service/outgoing-call.ts';
import { certificate } from './certificate.ts';
import { apiKey, failureOf, json, listen, serviceAt, serviceWith, startServer } from './http-server.ts';

const emptyPage = { feedback: [], nextCursor: null, hasMore: false };

/** A server that does as told with each connection, below HTTP. */
async function rawServer(onConnection: (socket: net.Socket) => void) {
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  const port = await listen(server);
  return { port, sockets, baseUrl: `http://127.0.0.1:${port}` };
}

/** Answers each request with these bytes, then closes. */
function answering(bytes: string) {
  return rawServer((socket) => socket.once('data', () => socket.end(bytes)));
}

async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

describe('a request that surely did not arrive', () => {
  it('refused', async () => {
    const port = await closedPort();
    const error = await failureOf(serviceAt(`http://127.0.0.1:${port}`).getExportJob('j'));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error).toMatchObject({ code: 'ECONNREFUSED', mayHaveArrived: false });
    expect(String(error)).toContain(`cannot talk to 127.0.0.1:${port}: it refused the connection`);
  });

  it('unknown host', async () => {
    const error = await failureOf(serviceAt('https://nowhere.invalid').getExportJob('j'));
    expect(error).toMatchObject({ name: 'NetworkError', mayHaveArrived: false });
    expect(['ENOTFOUND', 'EAI_AGAIN']).toContain((error as NetworkError).code);
  });

  it('certificate not trusted, with the way out', async () => {
    const server = tls.createServer(certificate, (socket) => socket.on('error', () => {}));
    const port = await listen(server);
    const beforeSend = vi.fn();
    const error = await failureOf(serviceAt(`https://localhost:${port}`).getExportJob('j', { beforeSend }));
    expect(error).toMatchObject({
      name: 'NetworkError',
      mayHaveArrived: false,
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
    expect(beforeSend).not.toHaveBeenCalled();
  });

  it('TLS where the server speaks plain HTTP, or closes', async () => {
    const plain = await startServer(json({}));
    const closing = await rawServer((socket) => socket.once('data', () => socket.end()));
    for (const { port } of [plain, closing]) {
      const error = await failureOf(serviceAt(`https://localhost:${port}`).getExportJob('j'));
      expect(error).toMatchObject({ name: 'NetworkError', mayHaveArrived: false });
    }
    expect(plain.received).toEqual([]);
  });

  it('a TLS handshake that takes too long; beforeSend is not called, the connection is closed', async () => {
    const silent = await rawServer((socket) => socket.resume());
    const beforeSend = vi.fn();
    const service = serviceAt(`https://localhost:${silent.port}`, { timeouts: { connectMs: 1_000 } });
    expect(await failureOf(service.getExportJob('j', { beforeSend }))).toMatchObject({
      code: 'ETIMEDOUT',
      mayHaveArrived: false,
      message: expect.stringContaining('could not be connected to within 1000 ms'),
    });
    expect(beforeSend).not.toHaveBeenCalled();
    await expect.poll(() => silent.sockets[0]?.closed).toBe(true);
  });
});

describe('a request that may have arrived', () => {
  it.each([
    ['closed without an answer', (socket: net.Socket) => socket.end()],
    ['reset', (socket: net.Socket) => socket.resetAndDestroy()],
    ['closed within the headers', (socket: net.Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-')],
    ['answered in another protocol', (socket: net.Socket) => socket.end('220 mail.example ESMTP\r\n')],
  ])('%s', async (_, answer) => {
    const { baseUrl } = await rawServer((socket) => socket.once('data', () => answer(socket)));
    const error = await failureOf(serviceAt(baseUrl).startExportJob({ domain: 'd' }));
    expect(error).toMatchObject({ name: 'NetworkError', mayHaveArrived: true });
  });

  it.each([
    ['by Content-Length', 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"status":"completed"'],
    ['in chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n16\r\n{"status":"completed"}\r\n'],
    ['in gzip', 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 500\r\n\r\n\u001f'],
  ])('a 200 whose body is cut short: %s', async (_, bytes) => {
    const { baseUrl } = await answering(bytes);
    const error = await failureOf(serviceAt(baseUrl).getExportJob('j'));
    expect(error).toMatchObject({ name: 'NetworkError', mayHaveArrived: true });
  });

  it('a 200 cut short where nothing tells the length is malformed', async () => {
    const { baseUrl } = await answering('HTTP/1.0 200 OK\r\n\r\n{"feedback":[],"hasMore":');
    expect(await failureOf(serviceAt(baseUrl).getFeedbackPage('p', {}))).toBeInstanceOf(MalformedResponse);
  });

  it.each([
    ['no first byte', { firstByteMs: 50 }, 'did not answer within 50 ms', () => {}],
    [
      'nothing but informational answers',
      { firstByteMs: 300 },
      'did not answer within 300 ms',
      (socket: net.Socket) => {
        const hints = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 20);
        socket.on('close', () => clearInterval(hints));
      },
    ],
    [
      'drop by drop',
      { overallMs: 1_000 },
      'did not finish its answer within 1000 ms',
      (socket: net.Socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n');
        const drip = setInterval(() => socket.write(' '), 10);
        socket.on('close', () => clearInterval(drip));
      },
    ],
  ])('a time limit passes: %s; the connection is reset', async (_, timeouts, message, answer) => {
    const { baseUrl, sockets } = await rawServer((socket) => socket.once('data', () => answer(socket)));
    const error = await failureOf(serviceAt(baseUrl, { timeouts }).getExportJob('j'));
    expect(error).toMatchObject({ code: 'ETIMEDOUT', mayHaveArrived: true, message: expect.stringContaining(message) });
    await expect.poll(() => sockets[0]?.errored).toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('an answer that is too long', () => {
  it.each([
    ['announced', { 'content-length': '2000000' }],
    ['chunked', {}],
  ])('is malformed, and reading stops: %s', async (_, headers) => {
    const { service, server } = await serviceWith((response) => {
      response.writeHead(200, headers);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
        response.once('drain', more);
      };
      more();
    });
    const error = await failureOf(service.getExportJob('j'));
    expect(error).toBeInstanceOf(MalformedResponse);
    expect(String(error)).toContain('longer than 1048576 bytes');
    const open = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
    await expect.poll(open).toBe(0);
  });
});

describe('the signal of the caller', () => {
  it('ends a call before it starts: nothing is sent', async () => {
    const { service, received } = await serviceWith(json(emptyPage));
    const beforeSend = vi.fn();
    const error = await failureOf(service.getFeedbackPage('p', {}, { signal: AbortSignal.abort(), beforeSend }));
    expect(error).toBeInstanceOf(Aborted);
    expect(error).toMatchObject({ mayHaveArrived: false });
    expect(beforeSend).not.toHaveBeenCalled();
    expect(received).toEqual([]);
  });

  it('ends a call while it connects', async () => {
    const abort = new AbortController();
    const silent = await rawServer(() => abort.abort());
    const error = await failureOf(
      serviceAt(`https://localhost:${silent.port}`).getExportJob('j', { signal: abort.signal }),
    );
    expect(error).toMatchObject({ name: 'Aborted', mayHaveArrived: false });
  });

  it('ends a call while it waits for the answer, or reads it', async () => {
    for (const answer of ['', 'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{']) {
      const abort = new AbortController();
      const { baseUrl } = await rawServer((socket) => {
        socket.once('data', () => socket.write(answer, () => setTimeout(() => abort.abort(), 20)));
      });
      const error = await failureOf(serviceAt(baseUrl).getExportJob('j', { signal: abort.signal }));
      expect(error).toBeInstanceOf(ServiceError);
      expect(error).toMatchObject({ name: 'Aborted', mayHaveArrived: true });
    }
  });

  it('is not listened to any longer afterwards', async () => {
    const { service } = await serviceWith(json(emptyPage));
    const { signal } = new AbortController();
    const remove = vi.spyOn(signal, 'removeEventListener');
    await service.getFeedbackPage('p', {}, { signal });
    expect(remove).toHaveBeenCalledOnce();
  });
});

describe('beforeSend', () => {
  it('is called once for each request, before any byte of it leaves', async () => {
    const { service, received } = await serviceWith(json(emptyPage));
    for (let calls = 0; calls < 3; calls += 1) {
      const beforeSend = vi.fn(() => expect(received).toHaveLength(calls));
      await service.getFeedbackPage('p', {}, { beforeSend });
      expect(beforeSend).toHaveBeenCalledOnce();
    }
    expect(received).toHaveLength(3);
  });

  it('is followed by afterWrite, before the answer comes; not when it throws', async () => {
    const { service } = await serviceWith(json(emptyPage));
    const events: string[] = [];
    for (let calls = 0; calls < 2; calls += 1) {
      await service.getFeedbackPage(
        'p',
        {},
        { beforeSend: () => events.push('checked'), afterWrite: () => events.push('written') },
      );
      events.push('answered');
    }
    expect(events).toEqual(['checked', 'written', 'answered', 'checked', 'written', 'answered']);
    const afterWrite = vi.fn();
    const beforeSend = () => {
      throw new Error('stop');
    };
    await failureOf(service.getFeedbackPage('p', {}, { beforeSend, afterWrite }));
    expect(afterWrite).not.toHaveBeenCalled();
  });

  it('stops the request by throwing, on a new connection and on a kept one', async () => {
    const { service, received } = await serviceWith(json(emptyPage));
    const reason = new Error('the lease has run out');
    const stopping = () => {
      throw reason;
    };
    expect(await failureOf(service.getFeedbackPage('p', {}, { beforeSend: stopping }))).toBe(reason);
    await service.getFeedbackPage('first', {});
    expect(await failureOf(service.getFeedbackPage('p', {}, { beforeSend: stopping }))).toBe(reason);
    await service.getFeedbackPage('second', {});
    expect(received.map(({ url }) => url.pathname.split('/')[3])).toEqual(['first', 'second']);
  });

  it('comes after the TLS handshake; throwing sends nothing there either', async () => {
    const events: string[] = [];
    const server = tls.createServer(certificate, (socket) => {
      socket.on('error', () => {});
      socket.on('data', (data) => events.push(data.toString().split('\r\n')[0] ?? ''));
    });
    const port = await listen(server);
    const service = serviceAt(`https://localhost:${port}`, { ca: certificate.cert, timeouts: { firstByteMs: 1_000 } });
    server.once('connection', () => events.push('connected'));
    const stopping = () => {
      events.push('beforeSend');
      throw new Error('stop');
    };
    expect(await failureOf(service.getExportJob('j', { beforeSend: stopping }))).toEqual(new Error('stop'));
    expect(await failureOf(service.getExportJob('j', { beforeSend: () => events.push('sending') }))).toBeInstanceOf(
      NetworkError,
    );
    expect(events).toEqual(['connected', 'beforeSend', 'sending', 'GET /v1/static-export/jobs/j HTTP/1.1']);
  });
});

describe('connections', () => {
  it('are kept for GET; each POST has its own, so that a dying one never leaves a job in doubt', async () => {
    const { service, server } = await serviceWith(json({ ...emptyPage, jobId: 'j' }));
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    for (let i = 0; i < 3; i += 1) await service.getFeedbackPage('p', {});
    expect(connections).toBe(1);
    for (let i = 0; i < 3; i += 1) await service.startExportJob({ domain: 'd' });
    expect(connections).toBe(4);
  });

  it('speak TLS with a certificate of an own authority', async () => {
    const server = tls.createServer(certificate, (socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n{"status":"done"}'));
    });
    const port = await listen(server);
    const service = serviceAt(`https://localhost:${port}`, { ca: certificate.cert });
    expect(await service.getExportJob('j')).toMatchObject({ status: 'done' });
  });

  it('leave no key in any network error', async () => {
    const { baseUrl } = await rawServer((socket) => socket.once('data', (data) => socket.end(data)));
    const error = await failureOf(serviceAt(baseUrl).getExportJob('j'));
    expect(error).toMatchObject({ name: 'NetworkError', mayHaveArrived: true });
    expect(JSON.stringify(error) + String(error) + (error as Error).stack).not.toContain(apiKey);
  });
});

const through = async (chunks: Buffer[], secret: string) =>
  Buffer.concat(await Readable.from(chunks).pipe(new WithoutSecret(secret)).toArray()).toString('latin1');

describe('an answer without the key', () => {
  it('has asterisks in its place, however the key was cut into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'aab', 'aabab', 'x'), { maxLength: 12 }),
        fc.array(fc.nat(60), { maxLength: 6 }),
        async (pieces, cuts) => {
          const text = pieces.join('');
          const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
          const chunks = places.slice(1).map((end, i) => Buffer.from(text.slice(places[i], end)));
          expect(await through(chunks, 'aabab')).toBe(text.replaceAll('aabab', '*****'));
        },
      ),
    );
  });

  it('leaves other bytes as they are, of any length', async () => {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7919) % 256));
    expect(await through([bytes, bytes.subarray(0, 1)], 'vendor_admin_key')).toBe(
      Buffer.concat([bytes, bytes.subarray(0, 1)]).toString('latin1'),
    );
  });
});
