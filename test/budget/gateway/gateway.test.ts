import { once } from 'node:events';
import http from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { leaseMs } from '../../../src/budget/rules/permits.ts';
import { apiKey, json, startServer } from '../../service/http-server.ts';
import { BudgetInMemory } from '../../tools/window/budget-in-memory.ts';
import { client, otherToken, rawRequest, runGateway, token } from './running-gateway.ts';

const page = { feedback: [], nextCursor: null, hasMore: false };
const authorized = { authorization: `Bearer ${token}` };

describe('the gateway (B6)', () => {
  it('forwards path and query as they are, with the key instead of the token', async () => {
    const service = await startServer(json(page));
    const { get, budget } = await runGateway(`${service.baseUrl}/docs-api`);
    const path = '/v1/analytics/prj_1/feedback?limit=2&status=pending,resolved&cursor=a%2Fb%3D';
    const answer = await get(path, { accept: 'application/json', cookie: 'a=b', 'x-forwarded-for': '10.0.0.1' });
    expect([answer.status, await answer.json()]).toEqual([200, page]);
    const [{ url, headers }] = service.received as [(typeof service.received)[0]];
    expect(url.pathname + url.search).toBe(`/docs-api${path}`);
    expect(headers).toMatchObject({ authorization: `Bearer ${apiKey}`, accept: 'application/json' });
    expect(headers).not.toHaveProperty('cookie');
    expect(headers).not.toHaveProperty('x-forwarded-for');
    expect(budget.questions).toMatchObject([{ holder: 'gateway:search', class: 'on-demand', wants: 1 }]);
    expect(budget.reports).toMatchObject([{ accepted: true, arrived: [expect.any(Number)] }]);
  });

  it('passes on status, body and what concerns the client, nothing of cookies, connections, servers and keys', async () => {
    const service = await startServer((response) => {
      response
        .writeHead(400, {
          'content-type': 'application/problem+json',
          'retry-after': '7',
          etag: '"x"',
          'x-request-id': 'r1',
          link: `<https://service.test/?key=${apiKey}>; rel=next`,
          'set-cookie': 'session=1',
          server: 'internal/1.2',
          via: '1.1 node-17',
          'x-backend': '10.0.0.7',
          'www-authenticate': 'Bearer realm="internal"',
        })
        .end(`{"error":"bad ${apiKey}"}`);
    });
    const { get } = await runGateway(service.baseUrl);
    const answer = await get();
    expect(answer.status).toBe(400);
    expect(await answer.text()).toBe(`{"error":"bad ${'*'.repeat(apiKey.length)}"}`);
    const headers = Object.fromEntries(answer.headers);
    expect(headers).toMatchObject({ 'content-type': 'application/problem+json', 'retry-after': '7', etag: '"x"' });
    expect(Object.keys(headers).sort()).toEqual(
      [
        'connection',
        'content-type',
        'date',
        'etag',
        'keep-alive',
        'retry-after',
        'transfer-encoding',
        'x-request-id',
      ].sort(),
    );
  });

  it('refuses what is not a GET below the analytics area, and unknown tokens, without asking the budget', async () => {
    const service = await startServer(json(page));
    const { gateway, budget } = await runGateway(service.baseUrl);
    const feedback = '/v1/analytics/prj_1/feedback';
    const tries: [http.RequestOptions, number][] = [
      [{ path: feedback, method: 'POST', headers: authorized }, 405],
      [{ path: feedback, method: 'HEAD', headers: authorized }, 405],
      [{ path: '/v1/static-export/jobs', headers: authorized }, 404],
      [{ path: '/v1/analytics/../static-export/jobs', headers: authorized }, 404],
      [{ path: '/v1/analytics/%2e%2e%2fstatic-export/jobs', headers: authorized }, 404],
      [{ path: 'http://evil.test/v1/analytics/prj_1/feedback', headers: authorized }, 404],
      [{ path: feedback, headers: { authorization: 'Bearer token-of-nobody-0123456789' } }, 401],
      [{ path: feedback }, 401],
      [{ path: feedback, headers: { ...authorized, 'content-length': '2' } }, 400],
      [{ path: `${feedback}?x=${'y'.repeat(9_000)}`, headers: authorized }, 414],
      [{ path: feedback, headers: { ...authorized, 'x-long': 'y'.repeat(20_000) } }, 431],
    ];
    for (const [options, status] of tries) {
      const answer = await rawRequest(gateway.url, options);
      expect([options.path?.slice(0, 50), answer.status]).toEqual([options.path?.slice(0, 50), status]);
      expect(answer.body).not.toContain('nobody');
    }
    expect(service.received).toEqual([]);
    expect(budget.questions).toEqual([]);
  });

  it('says 429 with Retry-After in whole seconds when no permit comes within the maxWait', async () => {
    const service = await startServer(json(page));
    const { get, budget } = await runGateway(service.baseUrl, {
      budget: new BudgetInMemory({ requests: 2, windowMs: 60_000 }),
      maxWaitMs: 200,
    });
    expect((await Promise.all([get(), get()])).map(({ status }) => status)).toEqual([200, 200]);
    const refused = await get();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await refused.json()).toEqual({ error: expect.stringContaining('used up') });
    expect(budget.state.waiters).toMatchObject([{ holder: 'gateway:search' }]);
    expect(service.received).toHaveLength(2);
  });

  it('waits for a permit as long as its maxWait, and asks again by itself', async () => {
    const service = await startServer(json(page));
    const { get } = await runGateway(service.baseUrl, {
      budget: new BudgetInMemory({ requests: 1, windowMs: 1_500, arrivalMs: 100 }),
    });
    expect((await get()).status).toBe(200);
    expect((await get()).status).toBe(200);
    expect(service.received).toHaveLength(2);
  });

  it('holds no more than its share, while another client goes on', async () => {
    const service = await startServer(json(page));
    const { gateway, get, budget } = await runGateway(service.baseUrl, {
      client: { ...client, share: 30 },
      maxWaitMs: 300,
    });
    const answers = await Promise.all(Array.from({ length: 6 }, () => get()));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429]);
    const other = await fetch(`${gateway.url}/v1/analytics/prj_1/feedback`, {
      headers: { authorization: `Bearer ${otherToken}` },
    });
    expect(other.status).toBe(200);
    expect(service.received).toHaveLength(4);
    expect(budget.state.waiters).toEqual([]);
  });

  it('has one question to the budget open at a time, for all waiting requests of a client', async () => {
    const service = await startServer(json(page));
    const { get, budget } = await runGateway(service.baseUrl, { budget: new BudgetInMemory({ requests: 40 }) });
    budget.answerMs = 50;
    const answers = await Promise.all(Array.from({ length: 30 }, () => get()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(budget.mostAtOnce).toBe(1);
    expect(budget.questions.length).toBeLessThan(15);
  });

  it('tells the budget of a 429 of the service, which the client sees as it is', async () => {
    const service = await startServer(json({ error: 'limit' }, 429, { 'retry-after': '120' }));
    const { get, budget } = await runGateway(service.baseUrl, { maxWaitMs: 100 });
    const answer = await get();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '120']);
    await expect.poll(() => budget.reports).toMatchObject([{ throttled: { retryAfterMs: 120_000 }, accepted: false }]);
    const next = await get();
    expect([next.status, await next.json()]).toEqual([429, { error: expect.stringContaining('refused a request') }]);
    expect(service.received).toHaveLength(1);
  });

  it('answers 502 where the service answers 401, and leaves it to the budget what that means', async () => {
    const service = await startServer((response, request) =>
      request.url.pathname.endsWith('/feedback')
        ? json(page)(response, request)
        : json({ error: 'who are you' }, 401)(response, request),
    );
    const { get, budget } = await runGateway(service.baseUrl);
    const answers = await Promise.all([get('/v1/analytics/prj_1/forbidden'), get()]);
    expect(answers.map(({ status }) => status)).toEqual([502, 200]);
    expect(await answers[0]?.json()).toEqual({ error: 'the service answered 401 to this path' });
    await expect.poll(() => budget.state.keyChecks.due).toBe(true);
    expect((await get()).status).toBe(200);
    expect(budget.reports.some(({ unauthorized }) => unauthorized)).toBe(false);
    expect(budget.state).toMatchObject({ refusedKey: null });
  });

  it('keeps the permit of a client that goes away after its request was sent, and returns one that was not', async () => {
    let release = () => {};
    const service = await startServer((response) => {
      release = () => response.end('{}');
    });
    const budget = new BudgetInMemory({ requests: 1, windowMs: 60_000 });
    const { gateway, lines } = await runGateway(service.baseUrl, { budget });
    const first = http.get(`${gateway.url}/v1/analytics/prj_1/feedback`, { headers: authorized }).on('error', () => {});
    await expect.poll(() => service.received.length).toBe(1);
    const second = http
      .get(`${gateway.url}/v1/analytics/prj_1/feedback`, { headers: authorized })
      .on('error', () => {});
    await expect.poll(() => budget.state.waiters.length).toBe(1);
    first.destroy();
    second.destroy();
    await expect.poll(() => lines).toContainEqual({ client: 'search', status: null, ms: expect.any(Number) });
    release();
    await expect.poll(() => budget.reports).toMatchObject([{ arrived: [expect.any(Number)], accepted: true }]);
    expect(budget.state.spent).toHaveLength(1);
    expect(service.received).toHaveLength(1);
  });

  it('returns permits whose clients left while the budget was asked', async () => {
    const service = await startServer(json(page));
    const budget = new BudgetInMemory();
    const { gateway } = await runGateway(service.baseUrl, { budget });
    const ask = budget.ask.bind(budget);
    let leave = () => {};
    budget.ask = async (org, question) => {
      leave();
      await sleep(50);
      return ask(org, question);
    };
    const request = http
      .get(`${gateway.url}/v1/analytics/prj_1/feedback`, { headers: authorized })
      .on('error', () => {});
    leave = () => request.destroy();
    await expect.poll(() => budget.reports).toMatchObject([{ arrived: [] }]);
    expect(budget.state).toMatchObject({ leases: [], spent: [] });
    expect(service.received).toEqual([]);
  });

  it('ends the request to the service when its client goes away in the middle of the answer', async () => {
    let gone = false;
    const service = await startServer((response) => {
      response.once('close', () => {
        gone = true;
      });
      response.writeHead(200, { 'content-type': 'text/plain' }).write('first');
    });
    const { gateway, budget } = await runGateway(service.baseUrl);
    const request = http
      .get(`${gateway.url}/v1/analytics/prj_1/feedback`, { headers: authorized })
      .on('error', () => {});
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    response.on('error', () => {});
    await once(response, 'data');
    // The permit is settled although the answer is still coming.
    await expect.poll(() => budget.reports).toMatchObject([{ accepted: true }]);
    request.destroy();
    await expect.poll(() => gone).toBe(true);
  });

  it('cuts its answer when the service cuts it, so that the client notices', async () => {
    const service = await startServer((response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('first');
      setImmediate(() => response.destroy());
    });
    const { get } = await runGateway(service.baseUrl);
    await expect(get().then((answer) => answer.text())).rejects.toThrow();
  });

  it('says 504 when the service does not answer, whose slot stays occupied, and 502 when it cannot be reached', async () => {
    const service = await startServer(() => {});
    const slow = await runGateway(service.baseUrl, { firstByteMs: 100 });
    expect((await slow.get()).status).toBe(504);
    await expect.poll(() => slow.budget.state.spent.length).toBe(1);
    const nowhere = await runGateway('http://127.0.0.1:9');
    expect((await nowhere.get()).status).toBe(502);
    await expect.poll(() => nowhere.budget.reports).toMatchObject([{ arrived: [] }]);
  });

  it('says 502 when the service switches to another protocol, and settles the lease', async () => {
    const service = await startServer(({ socket }) => {
      socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
    });
    const { get, budget } = await runGateway(service.baseUrl);
    expect((await get()).status).toBe(502);
    await expect.poll(() => budget.reports.length).toBe(1);
  });

  it('answers others while a client without a token keeps more connections than there may be', async () => {
    const service = await startServer(json(page));
    const { gateway, get } = await runGateway(service.baseUrl);
    const silent = Array.from({ length: 1_030 }, () => connect({ port: gateway.port, localAddress: '127.0.0.2' }));
    onTestFinished(() => silent.forEach((socket) => void socket.destroy()));
    for (const socket of silent) socket.on('error', () => {});
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    expect((await get()).status).toBe(200);
  });

  it('says 429 when the budget cannot be asked', async () => {
    const service = await startServer(json(page));
    const budget = new BudgetInMemory();
    budget.isDown = true;
    const { get, lines } = await runGateway(service.baseUrl, { budget, maxWaitMs: 100 });
    const answer = await get();
    expect([answer.status, await answer.json()]).toEqual([429, { error: expect.stringContaining('does not answer') }]);
    expect(lines).toContainEqual({ org: 'acme', err: expect.any(Error) });
  });

  it('lets no more requests of a client wait than the limit', async () => {
    const service = await startServer(json(page));
    const { get } = await runGateway(service.baseUrl, {
      budget: new BudgetInMemory({ requests: 1 }),
      mostWaiting: 2,
      maxWaitMs: 500,
    });
    await get();
    const answers = await Promise.all([get(), get(), get()].map(async (answer) => (await answer).text()));
    expect(answers.filter((text) => text.includes('too many'))).toHaveLength(1);
  });

  it('logs client, status and time, and never a key, a token or a query', async () => {
    const service = await startServer(json(page));
    const { get, lines } = await runGateway(service.baseUrl);
    await get('/v1/analytics/prj_secret/feedback?cursor=hidden');
    await rawRequest((await runGateway(service.baseUrl)).gateway.url, { path: '/v1/analytics/x/y' });
    expect(lines).toEqual([{ client: 'search', status: 200, ms: expect.any(Number) }]);
  });

  it('stops when what is coming has come: those who wait and those who are new are refused', async () => {
    let finish = () => {};
    const service = await startServer((response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('first ');
      finish = () => response.end('last');
    });
    const { gateway, get, budget } = await runGateway(service.baseUrl, { budget: new BudgetInMemory({ requests: 1 }) });
    const streaming = await get();
    const waiting = get();
    await expect.poll(() => budget.state.waiters.length).toBe(1);
    const stopped = gateway.stop();
    expect((await waiting).status).toBe(503);
    await expect(get()).rejects.toThrow();
    finish();
    expect(await streaming.text()).toBe('first last');
    await stopped;
    expect(budget.reports).toHaveLength(1);
  });

  it('sends nothing after its lease, and tries again with another', async () => {
    const service = await startServer(json(page));
    const budget = new BudgetInMemory({ requests: 10 });
    const ask = budget.ask.bind(budget);
    let asked = 0;
    budget.ask = async (org, question) => {
      const answer = await ask(org, question);
      asked += 1;
      // As if the process had been stopped for as long as a lease lasts.
      return asked === 1 && answer.kind === 'granted' ? { ...answer, useBy: answer.useBy - leaseMs } : answer;
    };
    const { get } = await runGateway(service.baseUrl, { budget });
    expect((await get()).status).toBe(200);
    expect(budget.questions).toHaveLength(2);
    expect(budget.reports).toMatchObject([{ arrived: [] }, { accepted: true }]);
    expect(service.received).toHaveLength(1);
  });
});
