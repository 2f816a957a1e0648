import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  lackingInTheEnd,
  prioritiesCheck,
  searchAttributesCheck,
  serverCheck,
  unlessRefused,
  verdictsOn,
} from '../../../src/cli/commands/doctor.ts';
import {
  certificateAuthoritiesCheck,
  checkStores,
  installationCheck,
  linksCheck,
  proxyCheck,
  webhookChecks,
} from '../../../src/cli/commands/doctor-installation.ts';
import { FileSecret, TextSecret } from '../../../src/config/secrets.ts';
import { openSqliteFeedbackStore } from '../../../src/feedback/store/sqlite-store.ts';
import { load, organizationWith } from '../../config/config-folder.ts';
import { certificate } from '../../service/certificate.ts';

const at = (address: string) => ({ baseUrl: address, analyticsBaseUrl: address, linkHosts: [], allowInsecure: false });
const cloud = at('https://docs-service.example');

describe('versions', () => {
  it('of Node: those that package.json names', () => {
    const level = (node: string) => installationCheck({ node, docferry: '0.1.0' }).level;
    const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
    const oldest = engines.node.split(' || ').map((range: string) => range.slice(1));
    expect(oldest.map(level)).toEqual(oldest.map(() => 'ok'));
    expect(['20.20.2', '24.21.0'].map(level)).toEqual(['ok', 'ok']);
    for (const node of ['18.20.4', '20.18.1', '21.7.3', '22.12.0', '23.11.1', '25.2.0'])
      expect(level(node), node).toBe('error');
  });

  it('of Temporal: a warning for servers before 1.28', () => {
    const level = (version: string) => serverCheck(version, 'here').level;
    expect(['1.27.2', '1.28.0', '1.29.1', '2.0.0', 'cloud', ''].map(level)).toEqual([
      'warning',
      'ok',
      'ok',
      'ok',
      'ok',
      'ok',
    ]);
  });
});

describe('priorities', () => {
  it('that the server ignores are a warning with the setting', () => {
    expect([true, false, null].map((isOrdered) => prioritiesCheck(isOrdered).level)).toEqual([
      'ok',
      'warning',
      'skipped',
    ]);
    expect(prioritiesCheck(false).fix).toContain('matching.useNewMatcher');
  });
});

describe('the task queues that lack a worker', () => {
  it('are those of the end: a worker that starts, or a Temporal that answers late, is no error', async () => {
    const seen = [['short', 'bulk'], null, ['bulk'], []];
    expect(await lackingInTheEnd(async () => seen.shift() ?? null)).toEqual([]);
    expect(seen).toEqual([]);
  });
});

describe('the proxy variables', () => {
  it('are shown by where they lead, never with a password', () => {
    const check = proxyCheck({ HTTPS_PROXY: 'http://user:secret@proxy:3128' }, cloud, null);
    expect(check).toMatchObject({ level: 'ok', detail: 'set; docs-service.example through proxy:3128' });
    expect(proxyCheck({}, cloud, null).detail).toBe('none set; docs-service.example directly');
  });

  it('have exceptions that match something', () => {
    const level = (no_proxy: string) => proxyCheck({ no_proxy }, cloud, null).level;
    expect(level('localhost,.internal, *.corp,10.0.0.0/8,*')).toBe('ok');
    expect(level('https://docs-service.example')).toBe('warning');
    expect(level('docs-*.example')).toBe('warning');
  });

  it('in lower case lead to Temporal too, without a password and but for exceptions', () => {
    const isCaught = (address: string, no_proxy = '') => {
      const { detail } = proxyCheck({ https_proxy: 'http://user:secret@proxy:3128', no_proxy }, cloud, address);
      return detail.includes('Temporal through proxy:3128') && !detail.includes('secret');
    };
    expect(isCaught('temporal.internal:7233')).toBe(true);
    expect(isCaught('temporal.internal:7233', 'localhost,.internal')).toBe(false);
    expect(isCaught('10.1.2.3:7233', '10.0.0.0/8')).toBe(false);
    expect(isCaught('localhost:7233')).toBe(false);
  });
});

describe('a SQLite feedback store', () => {
  const verdict = async (mode: { folder: number; file: number }) => {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-modes-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'feedback.db');
    await (await openSqliteFeedbackStore(file)).close();
    await chmod(file, mode.file);
    await chmod(folder, mode.folder);
    const config = load(`${organizationWith('')}store: { feedback: "sqlite:${file}" }`);
    const [check] = await checkStores(config);
    return { check, file };
  };

  it('that other users can read is a warning, with the command that mends it', async () => {
    const { check, file } = await verdict({ folder: 0o755, file: 0o644 });
    expect(check).toMatchObject({
      name: 'feedback-store',
      level: 'warning',
      detail: expect.stringContaining('other users of this machine can read the feedback'),
      fix: `chmod 600 ${file} ${file}-wal ${file}-shm`,
    });
    expect((await verdict({ folder: 0o755, file: 0o640 })).check?.level).toBe('warning');
  });

  it('is in order when only its owner can read it, or enter its folder', async () => {
    expect((await verdict({ folder: 0o755, file: 0o600 })).check?.level).toBe('ok');
    expect((await verdict({ folder: 0o700, file: 0o644 })).check?.level).toBe('ok');
  });
});

describe('certificate authorities', () => {
  const check = async (text: string, now = new Date('2027-01-01')) => {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-ca-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'ca.pem'), text);
    return certificateAuthoritiesCheck(join(folder, 'ca.pem'), now).level;
  };

  it('are counted and checked for expiry', async () => {
    expect(certificateAuthoritiesCheck(undefined, new Date()).level).toBe('ok');
    expect(await check(certificate.cert.repeat(2))).toBe('ok');
    expect(await check(certificate.cert, new Date('2200-01-01'))).toBe('warning');
    expect(await check('no certificate')).toBe('error');
    expect(await check(certificate.cert.replace(/MIIB.*/, 'AAAA'))).toBe('error');
  });
});

describe('a key that can be read', () => {
  const readable = { name: 'api-key:acme', level: 'ok', detail: 'from ACME_API_KEY', fix: null } as const;

  const fromEnvironment = new TextSecret('API key', `\${ACME_API_KEY}`, { ACME_API_KEY: 'k' });

  it.each([
    [fromEnvironment, 'set a working key and restart the workers'],
    [
      new FileSecret('/keys/acme', { directory: '/', environment: {} }),
      'put a working key into the file /keys/acme, then run `docferry doctor --key`',
    ],
  ])('is an error when the budget knows that the service refuses it: %s', (apiKey, fix) => {
    expect(unlessRefused(readable, { pausedBy: 'unauthorized' }, apiKey)).toMatchObject({
      name: 'api-key:acme',
      level: 'error',
      detail: expect.stringContaining('refused'),
      fix,
    });
  });

  it('is fine when the budget waits for something else, or says nothing', () => {
    for (const budget of [{ pausedBy: 'throttled' } as const, { pausedBy: null }, null]) {
      expect(unlessRefused(readable, budget, fromEnvironment)).toEqual(readable);
    }
  });
});

describe('bundle links', () => {
  it('of a service elsewhere need no permission, and get a warning for a needless one', () => {
    expect(linksCheck(cloud).level).toBe('ok');
    expect(linksCheck({ ...cloud, allowInsecure: true }).level).toBe('warning');
  });

  it('may be named as the suggestion says, and nothing else with a colon', () => {
    const file = (host: string) => `service: { baseUrl: "http://127.0.0.1:8787", linkHosts: ["${host}"] }
organizations: [{ id: acme, apiKey: k }]
`;
    expect(load(file('127.0.0.1:8787')).service.linkHosts).toEqual(['127.0.0.1:8787']);
    expect(() => load(file('127.0.0.1:none'))).toThrow('or host:port');
  });

  it('of a service on this machine or without TLS have to be allowed', () => {
    const local = at('http://localhost:8787');
    expect(linksCheck(local).fix).toContain('allowInsecure: true and service.linkHosts: [localhost:8787]');
    expect(linksCheck({ ...local, allowInsecure: true }).fix).toContain('set service.linkHosts: [localhost:8787]');
    expect(linksCheck({ ...local, allowInsecure: true, linkHosts: ['localhost'] }).level).toBe('ok');
  });
});

describe('search attributes', () => {
  it('of another type cannot be used', () => {
    const check = searchAttributesCheck({ present: [], missing: ['DocferryOrg'], mistyped: ['DocferryPhase'] });
    expect(check).toMatchObject({ level: 'error', detail: 'not of the type Keyword: DocferryPhase' });
  });
});

describe('what the service said to a key', () => {
  const asked = { project: 'prj_1', clockAheadMs: null };
  const acme = { id: 'acme', apiKey: new FileSecret('/keys/acme', { directory: '/', environment: {} }) };
  const levels = (check: Parameters<typeof verdictsOn>[1]) => verdictsOn(acme, check).map(({ level }) => level);

  it('gives no verdict on the key when the window is full', () => {
    expect(levels({ outcome: 'refused', type: 'RateLimited', message: '429', ...asked })).toEqual(['warning']);
    expect(levels({ outcome: 'no-permit', until: 0 })).toEqual(['warning']);
    expect(levels({ outcome: 'no-project' })).toEqual(['skipped']);
  });

  it('names the project that the service does not know', () => {
    const [check] = verdictsOn(acme, { outcome: 'refused', type: 'NotFound', message: 'unknown (404)', ...asked });
    expect(check).toMatchObject({ level: 'error', detail: 'prj_1: unknown (404)' });
  });

  it('shows clocks that are half a minute apart', () => {
    const clock = (clockAheadMs: number) => verdictsOn(acme, { outcome: 'accepted', ...asked, clockAheadMs })[1];
    expect([29_000, -29_000].map((ms) => clock(ms)?.level)).toEqual(['ok', 'ok']);
    expect([31_000, -31_000].map((ms) => clock(ms)?.level)).toEqual(['warning', 'warning']);
  });
});

describe('webhooks', () => {
  const yaml = organizationWith(`webhooks: [{ name: ops, url: "\${HOOK_URL}", secret: "\${HOOK_SECRET}" }]`);
  const checks = (env: Record<string, string>) => {
    const { organizations } = load(yaml, { env, secrets: 'deferred' });
    return organizations.flatMap(webhookChecks);
  };

  it('are good when address and secret can be read; none is called', () => {
    const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;
    const [check, ...more] = checks({ HOOK_URL: 'https://hooks.invalid/T0KEN', HOOK_SECRET: secret });
    expect(more).toEqual([]);
    expect(check).toMatchObject({ name: 'webhook:acme:ops', level: 'ok' });
    expect(check?.detail).toContain('secret from the environment variable HOOK_SECRET');
    expect(JSON.stringify(check)).not.toMatch(/T0KEN|whsec_/);
  });

  it('are bad without their variables or with malformed ones, which are not shown', () => {
    expect(checks({})[0]).toMatchObject({ level: 'error', detail: 'the environment variable HOOK_URL is not set' });
    const [wrong] = checks({ HOOK_URL: 'https://hooks.invalid/T0KEN', HOOK_SECRET: 'whsec_c2hvcnQ=' });
    expect(wrong).toMatchObject({ level: 'error', detail: expect.stringMatching(/at least 24 random bytes/) });
    expect(JSON.stringify(wrong)).not.toMatch(/T0KEN|c2hvcnQ/);
  });
});
