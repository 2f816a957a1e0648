import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  BadRequest,
  MalformedResponse,
  NotFound,
  NotReady,
  PlanRequired,
  RateLimited,
  ServerError,
  ServiceError,
  Unauthorized,
} from '../../src/service/errors.ts';
import { safeText } from '../../src/service/service-area.ts';
import { apiKey, failureOf, json, serviceWith } from './http-server.ts';

async function errorFor(status: number, body: unknown = { error: 'because' }, headers: Record<string, string> = {}) {
  const { service, received } = await serviceWith(json(body, status, headers));
  const error = await failureOf(service.getFeedbackPage('p', {}));
  expect(received).toHaveLength(1);
  return error;
}

describe('an answer that is no success', () => {
  it.each([
    [400, BadRequest],
    [401, Unauthorized],
    [403, PlanRequired],
    [404, NotFound],
    [405, BadRequest],
    [408, ServerError],
    [409, NotReady],
    [422, BadRequest],
    [425, ServerError],
    [429, RateLimited],
    [500, ServerError],
    [502, ServerError],
    [503, ServerError],
    [504, ServerError],
  ])('%d becomes %o with the words of the service', async (status, type) => {
    const error = await errorFor(status);
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ name: type.name });
    expect(String(error)).toMatch(new RegExp(`\\(${status}\\): because$`));
  });

  it('finds the words in an object too', async () => {
    const error = await errorFor(400, { error: { code: 'unknown_domain', message: 'no such domain' } });
    expect(error).toMatchObject({ message: 'the service refused the request (400): no such domain' });
  });

  it('400 carries details[].message', async () => {
    const details = [
      { message: 'limit: too big' },
      { message: 5 },
      'odd',
      { message: 'dateFrom: no date', field: 'x' },
    ];
    expect(await errorFor(400, { error: 'Invalid query parameters', details })).toMatchObject({
      details: ['limit: too big', 'dateFrom: no date'],
    });
    expect(await errorFor(400, { error: 'x', details: 'none' })).toMatchObject({ details: [] });
  });

  it.each([
    [{ 'retry-after': '37' }, 37_000],
    [{ 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT', date: 'Sat, 21 Nov 2026 12:00:00 GMT' }, 30_000],
    [{ 'retry-after': 'later' }, null],
    [{}, null],
  ])('429 with %j asks to wait %j ms', async (headers, retryAfterMs) => {
    expect(await errorFor(429, {}, headers as Record<string, string>)).toMatchObject({ retryAfterMs });
  });

  it('503 keeps its Retry-After', async () => {
    expect(await errorFor(503, {}, { 'retry-after': '5' })).toMatchObject({ status: 503, retryAfterMs: 5000 });
  });

  it.each([502, 503, 504])('%d from a gateway, in HTML', async (status) => {
    const { service } = await serviceWith((response) => {
      response.writeHead(status, { 'content-type': 'text/html' }).end('<html><h1>Bad Gateway</h1></html>');
    });
    const error = await failureOf(service.getExportJob('j'));
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({ status, message: `the service has a problem (${status})` });
  });

  it.each([301, 302, 303, 307, 308])('%d is not followed, and says what to check', async (status) => {
    const { service, received, baseUrl } = await serviceWith((response) => {
      response.writeHead(status, { location: `${baseUrl}/elsewhere?sig=SECRET` }).end();
    });
    const error = await failureOf(service.createBundleLink('j'));
    expect(error).toBeInstanceOf(MalformedResponse);
    expect(error).toMatchObject({ hint: 'check service.baseUrl' });
    expect(String(error)).toContain(`redirect (${status})`);
    expect(String(error)).not.toContain('SECRET');
    expect(received).toHaveLength(1);
  });

  it('counts by its status even when its body is cut short or endless', async () => {
    const cut = await serviceWith((response) => {
      response.writeHead(401, { 'content-length': '100' });
      response.write('{"error":', () => response.destroy());
    });
    expect(await failureOf(cut.service.getExportJob('j'))).toBeInstanceOf(Unauthorized);
    const long = await serviceWith((response) => {
      response.writeHead(429, { 'retry-after': '7' });
      response.end(`{"error":"${'x'.repeat(1_000_000)}"}`);
    });
    expect(await failureOf(long.service.getExportJob('j'))).toMatchObject({ name: 'RateLimited', retryAfterMs: 7000 });
  });

  it('never carries key, link, cursor, request or headers, however it is printed', async () => {
    const words = `Bearer ${apiKey} refused, ${apiKey} see https://store.example/?sig=SECRET or ask ada@example.org`;
    const headers = { 'x-secret': 'SECRET', 'set-cookie': 'SECRET' };
    for (const status of [400, 401, 403, 404, 409, 429, 500, 302, 200]) {
      const { service } = await serviceWith(json({ error: words, details: [{ message: words }] }, status, headers));
      const error = await failureOf(service.getFeedbackPage('p', { cursor: 'SECRET-cursor' }));
      expect(error).toBeInstanceOf(ServiceError);
      const printed = [inspect(error, { depth: 10, showHidden: true }), JSON.stringify(error), String(error)].join();
      for (const secret of [apiKey, 'SECRET', 'ada@', 'authorization', 'Authorization']) {
        expect(printed).not.toContain(secret);
      }
      expect((error as Error).cause).toBeUndefined();
    }
  });

  it('keeps long words short', async () => {
    expect(String(await errorFor(500, { error: 'word '.repeat(10_000) })).length).toBeLessThan(400);
  });
});

describe('safeText', () => {
  it('leaves ordinary words as they are', () => {
    expect(safeText('Invalid query parameter "limit": 101 > 100', [], 300)).toBe(
      'Invalid query parameter "limit": 101 > 100',
    );
  });

  it.each([
    ['see https://store.example/b?X-Amz-Signature=abc for it', 'see [removed] for it'],
    ['header Authorization: Bearer abc.def refused', 'header Authorization: [removed] refused'],
    ['key vendor_live_8fK2mQ9xT4bL7wZ1cV6n is revoked', 'key [removed] is revoked'],
    ['written by ada@example.org today', 'written by [removed] today'],
    ['the key short-key1 is revoked', 'the key [removed] is revoked'],
  ])('takes links, keys and addresses out of %j', (text, expected) => {
    expect(safeText(text, ['short-key1'], 300)).toBe(expected);
  });

  it('is one printable line of limited length', () => {
    expect(safeText('a\u0000b\nc\u001b[31md\u202ee', [], 300)).toBe('a b c [31md e');
    expect(safeText('word '.repeat(1000), [], 300)).toHaveLength(300);
    expect(safeText('😀'.repeat(400), [], 300)).toBe(`${'😀'.repeat(299)}…`);
  });
});
