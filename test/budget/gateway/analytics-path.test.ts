import { describe, expect, it } from 'vitest';
import { readAnalyticsTarget } from '../../../src/budget/gateway/gateway.ts';

describe('the path of a request', () => {
  it.each([
    ['/v1/analytics/prj_1/feedback', ''],
    ['/v1/analytics/prj_1/feedback', '?limit=100&cursor=a%2Fb==&status=pending,resolved'],
    ['/v1/analytics/prj_1/views/daily', '?from=2026-01-01T00:00:00Z'],
    ['/v1/analytics/caf%C3%A9/feedback', ''],
    ['/v1/analytics/a.b/feedback', '?q=..%2f..'],
  ])('is passed on as it is: %s%s', (path, query) => {
    expect(readAnalyticsTarget(path + query)).toEqual({ path, query });
  });

  it.each([
    '/',
    '/healthz',
    '/v1/analytics',
    '/v1/analytics/',
    '/v1/static-export/jobs',
    '/V1/analytics/prj_1/feedback',
    '/v1/analytics/../static-export/jobs',
    '/v1/analytics/prj_1/../../static-export/jobs',
    '/v1/analytics/prj_1/./feedback',
    '/v1/analytics/prj_1/..',
    '/v1/analytics/%2e%2e/static-export/jobs',
    '/v1/analytics/.%2E/static-export/jobs',
    '/v1/analytics/...',
    '/v1/analytics/prj_1%2f..%2f..%2fstatic-export',
    '/v1/analytics/prj_1%5c..%5cfeedback',
    '/v1/analytics/%252e%252e/static-export/jobs',
    '/v1/analytics/..;/static-export/jobs',
    '/v1/analytics/prj_1;x=1/feedback',
    '/v1/analytics//feedback',
    '/v1/analytics/prj_1/',
    '//evil.example/v1/analytics/prj_1/feedback',
    'http://evil.example/v1/analytics/prj_1/feedback',
    '/v1/analytics/prj_1\\..\\feedback',
    '/v1/analytics/prj_1%00/feedback',
    '/v1/analytics/prj_1%0d%0aX: y/feedback',
    '/v1/analytics/%ff/feedback',
    '/v1/analytics/%c0%ae%c0%ae/static-export/jobs',
    '/v1/analytics/prj_1%3fx/feedback',
    '/v1/analytics/prj_1/feedback#x',
    '/v1/analytics/prj_1/feedback?a=b c',
    '/v1/analytics/prj_1/feedback?a=%zz',
    '*',
    '',
  ])('is refused when it is not below the analytics area, or servers may read it in two ways: %s', (target) => {
    expect(readAnalyticsTarget(target)).toBeNull();
  });

  it('means the same after an address was made of it', () => {
    const { path, query } = readAnalyticsTarget("/v1/analytics/a'b!~/feedback?x='y'&z=|") ?? { path: '', query: '' };
    const url = new URL('https://service.test');
    url.pathname = path;
    url.search = query;
    expect(decodeURIComponent(url.pathname)).toBe(decodeURIComponent(path));
    expect(decodeURIComponent(url.search)).toBe(decodeURIComponent(query));
  });
});
