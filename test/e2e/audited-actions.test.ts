import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { startConsolePart } from '../../src/cli/commands/console.ts';
import { withFeedbackStore } from '../../src/cli/operator.ts';
import type { RunningConsole } from '../../src/console/console.tsx';
import { exportState } from '../../src/operations/exports.ts';
import { syncState } from '../../src/operations/syncs.ts';
import type { AuditEntry } from '../../src/runs/rules/audit.ts';
import { applySchedules } from '../../src/schedules/schedules.ts';
import { publishSite, smallSiteVersion } from '../tools/bundle/published-version.ts';
import { docferryJson } from '../tools/cli/run-docferry.ts';
import { ask, formToken, send, signIn } from '../tools/console/running-console.ts';
import { type Scene, setScene } from '../tools/scene.ts';

let scene: Scene;
let running: RunningConsole;
let stop: () => Promise<void>;
let cookie: string;

/** With a job that takes a while and a budget that is soon used up: what was started can be polled and cancelled. */
async function begin(jobSeconds: number): Promise<void> {
  scene = await setScene({
    sandbox: { jobSeconds, pages: 3, entries: 400 },
    budget: '{ requests: 2, window: 1h }',
    // Not in the week that is backfilled.
    schedule: '{ cron: "0 6 1 7 *" }',
  });
  await scene.startWorker();
  await applySchedules(scene.client, scene.taskQueue, scene.config.organizations, 'fast');
  const config = { ...scene.config, console: { ...scene.config.console, write: true } };
  const begun = await startConsolePart(config, {
    host: '127.0.0.1',
    port: 0,
    temporalUi: null,
    link: true,
    onNewLink: () => {},
  });
  running = begun.console;
  stop = begun.part.stop;
  cookie = await signIn(running);
}
afterEach(async () => {
  await stop?.();
  await applySchedules(scene.client, scene.taskQueue, [], 'fast');
  await scene.end();
});

/** Sends a form twice, as a person does who is not sure, and returns what the console says was done. */
async function act(path: string, fields: Record<string, string> = {}): Promise<string> {
  const form = { ...fields, sure: 'yes', order: randomUUID(), token: await formToken(running, cookie) };
  const answers = [await send(running, path, form, { cookie }), await send(running, path, form, { cookie })];
  expect([path, ...answers.map(({ status, text }) => (status === 303 ? status : text))]).toEqual([path, 303, 303]);
  const { text } = await ask(running, String(answers[0]?.headers.location), { headers: { cookie } });
  return /role="status"><p>(.*?)<\/p>/.exec(text)?.[1] ?? '';
}

/** Oldest first. */
const auditEntries = (): Promise<AuditEntry[]> =>
  withFeedbackStore(scene.config, async (store) => {
    const found: AuditEntry[] = [];
    for await (const entry of store.listAuditEntries({})) found.unshift(entry);
    return found;
  });

const rows = async () => (await auditEntries()).map(({ action, who, org, subject }) => [action, who, org, subject]);
const site = () => `/sites/${scene.org}/${scene.domain}`;
const runId = async (id: string) => (await scene.client.workflow.getHandle(id).describe()).runId;
const exportId = () => `export:${scene.org}:${scene.domain}`;
const sweepId = () => `sync:${scene.org}:${scene.project}:sweep`;
const phase = async () => (await exportState(scene.client, scene.org, scene.domain)).phase;
const rendering = () => expect.poll(phase, { interval: 100 }).toBe('rendering');
const exported = () => expect.poll(phase, { interval: 300 }).toBe('done');
const cancelled = () =>
  expect.poll(async () => (await scene.client.workflow.getHandle(exportId()).describe()).status.name).toBe('CANCELLED');
const sweeps = async () => {
  const { org, project, client } = scene;
  const state = () => syncState(client, { org, project, pass: 'sweep' });
  await expect.poll(async () => (await state()).waiting).not.toBeNull();
};

describe('every audit entry stands in the audit once, with who did it', () => {
  it('in the console', async () => {
    await begin(3);
    const { org, domain, project } = scene;
    const schedule = { schedule: exportId() };
    expect(await act(`${site()}/start`)).toContain('has started');
    expect(await act(`${site()}/start`)).toContain('already running');
    await rendering();
    await act(`${site()}/poll-now`);
    await act(`${site()}/cancel`, { run: await runId(exportId()) });
    await cancelled();
    await act('/bulk/start', { site: `${org}/${domain}` });
    await exported();
    const [version = ''] = await shownVersions();
    await act(`${site()}/hold`, { reason: 'a sale' });
    await act(`${site()}/release`);
    expect(await act('/bulk/hold', { site: `${org}/${domain}`, reason: 'a fair' })).toBe('Held 1 of 1.');
    expect(await act('/bulk/release', { site: `${org}/${domain}` })).toBe('Released 1 of 1.');
    const earlier = smallSiteVersion;
    await publishSite({ root: join(scene.folder, 'data/bundles'), domain, version: earlier });
    await act(`${site()}/rollback`, { version: earlier, reason: 'broken' });
    await exported();
    const pass = `/projects/${org}/${project}`;
    await act(`${pass}/sync`, { pass: 'sweep' });
    await sweeps();
    expect(await act(`${pass}/sync`, { pass: 'sweep' })).toContain('is running');
    await act(`${pass}/cancel`, { pass: 'sweep', run: await runId(sweepId()) });
    await act('/schedules/pause', schedule);
    await act('/schedules/resume', schedule);
    await act('/schedules/trigger', schedule);
    await act('/bulk/pause', { site: `${org}/${domain}` });
    await act(`/budget/${org}/pause`, { for: '1h' });
    const me = 'terminal';
    await expect.poll(async () => (await rows()).length).toBe(16);
    // The rows that workflows write may come a moment later than those of the console.
    expect(new Set((await rows()).map((row) => row.join(' ')))).toEqual(
      new Set([
        `start-export ${me} ${org} ${domain}`,
        `poll-now ${me} ${org} ${domain}`,
        `cancel-export ${me} ${org} ${domain}`,
        `hold ${me} ${org} ${domain}`,
        `release ${me} ${org} ${domain}`,
        `rollback ${me} ${org} ${domain}`,
        `start-pass ${me} ${org} ${project}`,
        `cancel-pass ${me} ${org} ${project}`,
        `schedule-pause ${me} ${org} ${domain}`,
        `schedule-resume ${me} ${org} ${domain}`,
        `schedule-trigger ${me} ${org} ${domain}`,
        `budget-pause ${me} ${org} `,
      ]),
    );
    const count = async (wanted: string) => (await auditEntries()).filter(({ action }) => action === wanted).length;
    expect([await count('start-export'), await count('schedule-pause'), await count('start-pass')]).toEqual([2, 2, 1]);
    const bulk = (await auditEntries()).filter(({ detail }) => detail.includes('"bulk":true'));
    expect(bulk.map(({ action }) => action)).toEqual(['start-export', 'hold', 'release', 'schedule-pause']);
    expect(await auditEntries()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'hold', reason: 'a sale', detail: JSON.stringify({ version }) }),
        expect.objectContaining({ action: 'hold', reason: 'a fair', detail: JSON.stringify({ bulk: true, version }) }),
        expect.objectContaining({ action: 'rollback', reason: 'broken' }),
        expect.objectContaining({ action: 'start-pass', detail: JSON.stringify({ pass: 'sweep' }) }),
      ]),
    );
  });

  it('by the command line', async () => {
    // Each command is a process: the job must outlast several.
    await begin(120);
    const { org, domain, project } = scene;
    const run = async (...args: string[]) => {
      const { exitCode, stdout } = await docferryJson([...args, '--as', 'cleo', '--config', scene.configFile]);
      expect([args, exitCode, exitCode === 0 ? '' : stdout]).toEqual([args, 0, '']);
    };
    await run('export', 'start', domain, '--force');
    await run('export', 'start', domain, '--force');
    await rendering();
    await run('export', 'poll-now', domain);
    await run('export', 'cancel', domain);
    await cancelled();
    await run('feedback', 'sync', project, '--pass', 'sweep');
    await sweeps();
    await run('feedback', 'sync', project, '--pass', 'sweep');
    await run('feedback', 'cancel', project, '--pass', 'sweep');
    await run('schedules', 'pause', domain, '--note', 'a move');
    await run('schedules', 'trigger', domain);
    await run('schedules', 'resume', domain);
    await run('schedules', 'backfill', domain, '--from', '2026-01-01', '--to', '2026-01-02');
    expect(await rows()).toEqual([
      ['start-export', 'cleo', org, domain],
      ['poll-now', 'cleo', org, domain],
      ['cancel-export', 'cleo', org, domain],
      ['start-pass', 'cleo', org, project],
      ['cancel-pass', 'cleo', org, project],
      ['schedule-pause', 'cleo', org, domain],
      ['schedule-trigger', 'cleo', org, domain],
      ['schedule-resume', 'cleo', org, domain],
    ]);
    expect((await auditEntries()).map(({ reason, detail }) => [reason, detail])).toEqual([
      [null, '{"force":true}'],
      [null, '{}'],
      [null, '{}'],
      [null, '{"pass":"sweep"}'],
      [null, '{"pass":"sweep"}'],
      ['a move', '{}'],
      [null, '{}'],
      [null, '{}'],
    ]);
    const found = async (...flags: string[]) => {
      const { document } = await docferryJson(['audit', ...flags, '--config', scene.configFile]);
      return (document.auditEntries as AuditEntry[]).map(({ action }) => action);
    };
    expect(await found('--action', 'schedule-pause')).toEqual(['schedule-pause']);
    expect(await found('--who', 'CLE', '--org', org, '--limit', '1')).toEqual(['schedule-resume']);
    expect(await found('--who', '%')).toEqual([]);
    expect(await found('--org', 'another')).toEqual([]);
  });

  it('in the console while the store is away: it is done, and the page says what the audit lacks', async () => {
    await begin(3);
    const config = {
      ...scene.config,
      console: { ...scene.config.console, write: true },
      store: {
        ...scene.config.store,
        feedback: { place: 'nowhere', kind: 'sqlite' as const, file: '/proc/none/feedback.db', sharedFolder: false },
      },
    };
    await stop();
    const begun = await startConsolePart(config, {
      host: '127.0.0.1',
      port: 0,
      temporalUi: null,
      link: true,
      onNewLink: () => {},
    });
    running = begun.console;
    stop = begun.part.stop;
    cookie = await signIn(running);
    expect(await act('/schedules/pause', { schedule: exportId() })).toMatch(/is paused.* The audit will not show it: /);
    const described = await scene.client.schedule.getHandle(`docferry:${scene.taskQueue}:${exportId()}`).describe();
    expect(described.state.paused).toBe(true);
  });
});

async function shownVersions(): Promise<string[]> {
  const { text } = await ask(running, site(), { headers: { cookie } });
  return [...new Set(text.match(/\d{8}T\d{6}Z-[0-9a-f]{12}/g))];
}
