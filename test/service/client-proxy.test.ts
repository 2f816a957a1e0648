import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { certificate } from './certificate.ts';
import { apiKey, failureOf, listen, serviceAt } from './http-server.ts';

/** A CONNECT proxy that leads every tunnel to `target`, or refuses with `status`. */
async function startProxy(target: number, options: { status?: number; tls?: boolean } = {}) {
  const seen: { line: string; headers: http.IncomingHttpHeaders }[] = [];
  const refuseRequest: http.RequestListener = (request, response) => {
    seen.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    response.writeHead(500).end();
  };
  const proxy = options.tls ? https.createServer(certificate, refuseRequest) : http.createServer(refuseRequest);
  proxy.on('connect', (request: http.IncomingMessage, socket: net.Socket) => {
    seen.push({ line: `CONNECT ${request.url}`, headers: request.headers });
    socket.on('error', () => {});
    if (options.status !== undefined) {
      socket.end(`HTTP/1.1 ${options.status} No\r\ncontent-type: application/json\r\n\r\n{"error":"SECRET"}`);
      return;
    }
    const upstream = net.connect(target, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n');
      upstream.pipe(socket);
      socket.pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  });
  return { port: await listen(proxy), seen };
}

async function startTlsService() {
  const received: (string | undefined)[] = [];
  const server = https.createServer(certificate, (request, response) => {
    received.push(request.headers.authorization);
    response.end(JSON.stringify({ status: 'running' }));
  });
  return { port: await listen(server), received };
}

function behind(proxy: string, baseUrl = 'https://service.test') {
  return serviceAt(baseUrl, {
    ca: certificate.cert,
    environment: { HTTPS_PROXY: proxy, HTTP_PROXY: proxy },
    allowInsecure: true,
  });
}

describe('behind a proxy', () => {
  it('https goes through a tunnel: the proxy sees neither key nor path', async () => {
    const target = await startTlsService();
    const proxy = await startProxy(target.port);
    const service = behind(`http://user:p%40ss@127.0.0.1:${proxy.port}`);
    const beforeSend = vi.fn(() => expect(proxy.seen).toHaveLength(1));
    expect(await service.getExportJob('job_1', { beforeSend })).toMatchObject({ status: 'running' });
    expect(await service.getExportJob('job_2')).toMatchObject({ status: 'running' });
    expect(target.received).toEqual([`Bearer ${apiKey}`, `Bearer ${apiKey}`]);
    expect(proxy.seen.map(({ line }) => line)).toEqual(['CONNECT service.test:443']);
    expect(proxy.seen[0]?.headers).toEqual({
      host: 'service.test:443',
      'proxy-authorization': `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
    });
    expect(beforeSend).toHaveBeenCalledOnce();
  });

  it('the proxy itself may speak TLS', async () => {
    const target = await startTlsService();
    const proxy = await startProxy(target.port, { tls: true });
    const environment = { HTTPS_PROXY: `https://localhost:${proxy.port}` };
    const service = serviceAt('https://service.test', { ca: certificate.cert, environment });
    expect(await service.getExportJob('j')).toMatchObject({ status: 'running' });
    expect(proxy.seen.map(({ line }) => line)).toEqual(['CONNECT service.test:443']);
  });

  it('a time limit passes within TLS within TLS', async () => {
    const target = await listen(https.createServer(certificate, () => {}));
    const proxy = await startProxy(target, { tls: true });
    const environment = { HTTPS_PROXY: `https://localhost:${proxy.port}` };
    const timeouts = { firstByteMs: 50 };
    const service = serviceAt('https://service.test', { ca: certificate.cert, environment, timeouts });
    for (let i = 0; i < 3; i += 1) {
      expect(await failureOf(service.getExportJob('j'))).toMatchObject({ code: 'ETIMEDOUT', mayHaveArrived: true });
    }
  });

  it('plain http goes through a tunnel too', async () => {
    const server = http.createServer((_request, response) => response.end('{"status":"running"}'));
    const proxy = await startProxy(await listen(server));
    const service = behind(`127.0.0.1:${proxy.port}`, 'http://service.test:8080');
    expect(await service.getExportJob('j')).toMatchObject({ status: 'running' });
    expect(proxy.seen.map(({ line }) => line)).toEqual(['CONNECT service.test:8080']);
  });

  it.each([401, 403, 407, 429, 503])("its refusal (%d) is not taken for the service's answer", async (status) => {
    const proxy = await startProxy(0, { status });
    const beforeSend = vi.fn();
    const error = await failureOf(
      behind(`http://user:hunter2@127.0.0.1:${proxy.port}`).getExportJob('j', { beforeSend }),
    );
    expect(error).toMatchObject({
      name: 'NetworkError',
      code: 'EPROXY',
      mayHaveArrived: false,
      hint: expect.stringContaining('HTTPS_PROXY'),
    });
    expect(String(error)).toContain(`(${status})`);
    expect(JSON.stringify(error) + String(error)).not.toMatch(/hunter2|SECRET/);
    expect(beforeSend).not.toHaveBeenCalled();
  });

  it.each([
    ['closes at once', (socket: net.Socket) => socket.end()],
    ['does not speak HTTP', (socket: net.Socket) => socket.end('220 mail.example ESMTP\r\n\r\n')],
    ['talks without end', (socket: net.Socket) => socket.write('x'.repeat(100_000))],
  ])('a proxy that %s', async (_, answer) => {
    const server = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => answer(socket));
    });
    const error = await failureOf(behind(`http://127.0.0.1:${await listen(server)}`).getExportJob('j'));
    expect(error).toMatchObject({ name: 'NetworkError', code: 'EPROXY', mayHaveArrived: false });
  });

  it('an unusable proxy address is an error, not a direct connection', async () => {
    const error = await failureOf(behind('socks5://user:hunter2@127.0.0.1:1').getExportJob('j'));
    expect(error).toMatchObject({ name: 'NetworkError', mayHaveArrived: false });
    expect(String(error)).toMatch(/HTTPS_PROXY/);
    expect(String(error)).not.toContain('hunter2');
  });
});
