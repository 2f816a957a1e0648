import { describe, expect, it } from 'vitest';
import { optionsFromFlags, SandboxFlagError, sandboxFlags, startSandbox } from '../../sandbox/index.ts';
import { getFeedback, sandboxWith } from './support.ts';

describe('sandboxFlags', () => {
  it('has each flag once, in kebab-case and with a description and a default', () => {
    const names = sandboxFlags.map(({ flag }) => flag);
    expect(new Set(names).size).toBe(names.length);
    for (const { flag, description, default: initial } of sandboxFlags) {
      expect(flag).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
      expect(description).not.toBe('');
      expect(initial).toBeDefined();
    }
  });

  it('writes defaults as they would be typed', () => {
    const defaults = Object.fromEntries(sandboxFlags.map((flag) => [flag.flag, flag.default]));
    expect(defaults).toMatchObject({
      port: 8787,
      'storage-port': 8788,
      requests: 100,
      window: '1h',
      'job-seconds': 8,
      'link-lifetime': '5m',
      'retry-after': 'seconds',
      'error-rate': 0,
      unauthorized: false,
      'cursor-ttl': '0s',
    });
  });

  it('has as many organizations as asked for, each with a project and a site of its own', async () => {
    const options = optionsFromFlags({ organizations: '3' });
    expect(options.organizations?.map(({ id, projects, domains }) => [id, projects?.[0]?.id, domains?.[0]])).toEqual([
      ['acme', 'prj_1', 'docs.acme.example'],
      ['acme-2', 'prj_1-2', 'docs.acme-2.example'],
      ['acme-3', 'prj_1-3', 'docs.acme-3.example'],
    ]);
    for (const organizations of ['0', '1.5', 'many']) {
      expect(() => optionsFromFlags({ organizations })).toThrow(/^--organizations must be a whole number/);
    }
  });

  it('takes its own defaults back', () => {
    const values = Object.fromEntries(sandboxFlags.map((flag) => [flag.flag, String(flag.default)]));
    expect(() => optionsFromFlags({ ...values, 'no-enterprise': false })).not.toThrow();
  });
});

describe('optionsFromFlags', () => {
  it('reads numbers, durations, sizes, words and switches, in kebab-case or camelCase', () => {
    expect(
      optionsFromFlags({
        requests: '10',
        window: '10s',
        entries: 3_000,
        'job-seconds': '0.5',
        padBytes: '200MiB',
        clockSkew: '-5m',
        countRejected: true,
        'retry-after': 'date',
        errorRate: '0.05',
        'link-lifetime': '1.5s',
        json: true,
      }),
    ).toEqual({
      port: 8787,
      storagePort: 8788,
      requests: 10,
      windowMs: 10_000,
      entries: 3_000,
      jobSeconds: 0.5,
      padBytes: 209_715_200,
      clockSkewMs: -300_000,
      countRejected: true,
      organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example'], plan: 'enterprise' }],
      faults: { errorRate: 0.05, retryAfter: 'date', linkLifetimeMs: 1_500 },
    });
  });

  it('describes one organization', () => {
    const options = optionsFromFlags({
      org: 'beta',
      'api-key': 'dk_admin_beta',
      projects: 'p1,p2',
      domains: 'a.example,b.example',
      enterprise: false,
    });
    expect(options.organizations).toEqual([
      {
        id: 'beta',
        apiKey: 'dk_admin_beta',
        projects: [{ id: 'p1' }, { id: 'p2' }],
        domains: ['a.example', 'b.example'],
        plan: 'basic',
      },
    ]);
  });

  it.each([
    ['requests', '0', '--requests must be a whole number of at least 1'],
    ['requests', 'ten', '--requests must be a whole number of at least 1'],
    ['window', '10', '--window must be a duration of at least 1, written like 250ms, 10s, 15m or 1h'],
    ['pad-bytes', '5 apples', '--pad-bytes must be a number of bytes of at least 0, written like 4096 or 200MiB'],
    ['error-rate', '5', '--error-rate must be a number from 0 to 1'],
    ['order', 'random', '--order must be one of newest, oldest'],
    ['port', '70000', '--port must be a whole number from 0 to 65535'],
    ['api-key', 'secret', '--api-key must begin dk_admin_'],
  ])('names the flag --%s for the value %s', (flag, value, message) => {
    expect(() => optionsFromFlags({ [flag]: value })).toThrow(
      new SandboxFlagError(flag, message.slice(flag.length + 3)),
    );
  });
});

describe('startSandbox', () => {
  it('starts with what flags say', async () => {
    const sandbox = await sandboxWith(optionsFromFlags({ port: 0, 'storage-port': 0, requests: '1', errors: '1' }));
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await getFeedback(sandbox)).status).toBe(500);
    expect((await getFeedback(sandbox)).status).toBe(429);
  });

  it.each([
    [{ requests: 0 }, 'requests'],
    [{ now: 'soon' }, 'now'],
    [{ faults: { errorRate: 3 } }, 'errorRate'],
    [{ organizations: [{ id: 'a', apiKey: 'plain' }] }, 'dk_admin_'],
    [{ organizations: [{ id: 'a', projects: [{ id: 'p' }, { id: 'p' }] }] }, 'project p is listed twice'],
    [{ organizations: [{ id: 'a' }, { id: 'a' }] }, 'organization a is listed twice'],
  ])('refuses %j, naming %s', async (options, named) => {
    await expect(startSandbox(options)).rejects.toThrow(named);
  });
});
