import { randomBytes, randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../sandbox/index.ts';
import { findFreePort, loopbackAddress } from '../../src/local/ports.ts';
import { docferryJson, emptyFolder } from '../tools/cli/run-docferry.ts';
import { ask, formToken, send, signIn } from '../tools/console/running-console.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';

/** Typed by people, so that they enter inputs, histories, summaries and the audit. */
const planted = ['planted-words-of-a-hold', 'planted-words-of-a-rollback', 'planted-words-of-an-approval'] as const;

/** What inputs, results, states, summaries and failures of ours say, beside words that nobody planted. */
const words = [
  ...planted,
  'contentDigest',
  'jobsStarted',
  'storeId',
  'analytics requests of',
  'scheduled export of',
  'next poll in',
  'Type mismatch',
  'is not a public address',
];

it('a namespace with a key holds no payload in clear text, from `up` to a rotated key (X7)', async () => {
  const folder = await emptyFolder();
  const sandbox = await startSandbox({
    organizations: [{ id: 'acme', projects: [{ id: 'prj_1' }], domains: ['docs.acme.example', 'asked.acme.example'] }],
    entries: 300,
    jobSeconds: 1,
  });
  onTestFinished(() => sandbox.stop());
  for (const key of ['k1', 'k2']) await writeFile(join(folder, key), randomBytes(32).toString('hex'));
  const [port, bundles, consolePort] = [await findFreePort(), await findFreePort(), await findFreePort()];
  const configure = (...keys: string[]) =>
    writeFile(
      join(folder, 'docferry.yaml'),
      `temporal:
  address: 127.0.0.1:${port}
  encryption: { keys: [${keys.map((id) => `{ id: ${id}, keyFile: ./${id} }`).join(', ')}] }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
console: { write: true }
organizations:
  - id: acme
    apiKey: "${sandbox.apiKey}"
    refresh: { every: 5m }
    projects: [{ id: prj_1 }]
    sites:
      - domain: docs.acme.example
        schedule: { cron: "0 6 1 1 *" }
        rollout: [{ directory: { path: ./site } }]
      - { domain: asked.acme.example, approval: manual }
store: { bundles: { directory: ./data/bundles, publicUrl: "http://127.0.0.1:${bundles}" } }
`,
    );
  const up = async () => {
    const ports = ['--port', `${port}`, '--bundle-port', `${bundles}`, '--console-port', `${consolePort}`];
    const started = new DocferryProcess(['up', '--no-ui', ...ports], { cwd: folder });
    onTestFinished(() => started.kill('SIGKILL'));
    await started.says('docferry: ready');
    return started;
  };
  const done = async (...args: string[]) => {
    const { exitCode, document, stderr } = await docferryJson(args, { cwd: folder, ownProcess: args[0] === 'replay' });
    expect([args.join(' '), exitCode, exitCode === 0 ? '' : { stderr, document }]).toEqual([args.join(' '), 0, '']);
    return document;
  };
  const encryption = async () => {
    const { document } = await docferryJson(['doctor'], { cwd: folder });
    return (document.checks as { name: string; level: string; detail: string }[]).find(
      ({ name }) => name === 'encryption',
    );
  };

  /** A session in the console of what runs: its cookie, and the token of its forms. */
  const session = async () => {
    const [signInUrl = ''] = /http:\S+\/sign-in\?token=[\w-]{43}/.exec(running.output) ?? [];
    const cookie = await signIn({ port: consolePort, signInUrl });
    return { cookie, token: await formToken({ port: consolePort }, cookie) };
  };
  const refreshed = async () => {
    const connection = await Connection.connect({ address: loopbackAddress(port) });
    onTestFinished(() => connection.close());
    const query = 'WorkflowType = "refreshFeedback" AND ExecutionStatus = "Completed"';
    return async () => (await new Client({ connection }).workflow.count(query)).count;
  };

  await configure('k1');
  let running = await up();
  const first = await done('export', 'start', 'docs.acme.example', '--wait');
  sandbox.publishRevision('docs.acme.example');
  await done('export', 'start', 'docs.acme.example', '--wait');
  await done('export', 'start', 'asked.acme.example');
  sandbox.setFaults({ storageRedirect: 'http://169.254.169.254/latest' });
  expect(
    (await docferryJson(['export', 'start', 'docs.acme.example', '--force', '--wait'], { cwd: folder })).exitCode,
  ).toBe(1);
  sandbox.setFaults({ storageRedirect: '' });
  await done('feedback', 'sync', 'prj_1', '--wait');
  await done('schedules', 'trigger', '--all');
  await expect.poll(await refreshed()).toBeGreaterThanOrEqual(1);
  await done('export', 'rollback', 'docs.acme.example', `${first.version}`, '--reason', planted[1], '--wait');
  await done('export', 'release', 'docs.acme.example');
  await done('export', 'hold', 'docs.acme.example', '--reason', planted[0]);
  await expect
    .poll(async () => (await done('export', 'status', 'asked.acme.example')).state)
    .toMatchObject({ phase: 'awaiting-approval' });
  const page = '/sites/acme/asked.acme.example';
  const { cookie } = await session();
  const shown = await ask({ port: consolePort }, page, { headers: { cookie } });
  expect([shown.status, shown.text.includes('approv')]).toEqual([200, true]);
  expect(await encryption()).toMatchObject({
    level: 'ok',
    detail: expect.stringMatching(/with the key k1; .*need k1$/),
  });
  await running.kill('SIGTERM');

  await configure('k2', 'k1');
  running = await up();
  // Schedules are written again with the new key.
  expect(running.output).toMatch(/ [1-9]\d* updated/);
  expect(await done('schedules', 'plan')).toMatchObject({ update: [] });
  // Begun with one key, decided with the other.
  const { state } = await done('export', 'status', 'asked.acme.example');
  const { version } = (state as { approval: { version: string } }).approval;
  const { cookie: again, token } = await session();
  const decision = { version, sure: 'yes', order: randomUUID(), token, reason: planted[2] };
  expect(await send({ port: consolePort }, `${page}/approve`, decision, { cookie: again })).toMatchObject({
    status: 303,
  });
  await expect
    .poll(async () => (await done('export', 'versions', 'asked.acme.example')).current)
    .toEqual(expect.any(String));
  await done('export', 'start', 'docs.acme.example', '--force', '--wait');
  await done('feedback', 'sync', 'prj_1', '--pass', 'sweep', '--wait');
  const count = await refreshed();
  const before = await count();
  await done('schedules', 'trigger', '--all');
  await expect.poll(count).toBeGreaterThan(before);
  expect(await encryption()).toMatchObject({ level: 'ok', detail: expect.stringContaining('with the key k2') });
  const replayed = await done('replay', '--since', '1h');
  expect(replayed).toMatchObject({ ok: true, failures: [] });
  expect(replayed.histories).toBeGreaterThan(8);
  const audit = JSON.stringify(await done('audit'));
  for (const reason of planted) expect(audit).toContain(reason);
  await running.kill('SIGTERM');

  // Without the old key, what it has encrypted is named.
  await configure('k2');
  running = await up();
  expect(await encryption()).toMatchObject({
    level: 'error',
    detail: 'running work or schedules need the key k1, which is not configured here',
  });
  await running.kill('SIGTERM');

  const files = (await readdir(join(folder, 'data'))).filter((name) => name.startsWith('temporal.db'));
  // Journals go with their transactions.
  const contents = await Promise.all(
    files.map((name) => readFile(join(folder, 'data', name), 'latin1').catch(() => '')),
  );
  const database = contents.join('\n');
  expect(database).not.toContain(sandbox.apiKey);
  for (const clear of ['binary/encrypted', 'export:acme:docs.acme.example', 'exportSite'])
    expect(database).toContain(clear);
  expect(words.filter((text) => database.includes(text))).toEqual([]);
});
