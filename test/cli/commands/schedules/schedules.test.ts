import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { applySchedules, namedSchedules } from '../../../../src/schedules/schedules.ts';
import { configText, docferry, docferryJson, emptyFolder } from '../../../tools/cli/run-docferry.ts';
import { hasTerminals, inShell, TerminalSession } from '../../../tools/cli/terminal-session.ts';
import { silentProxy } from '../../../tools/proxies/silent-proxy.ts';
import { devServerEnvironment, forThisFile, useDevServer } from '../../../tools/temporal/temporal.ts';

const environment = await forThisFile(devServerEnvironment());
const queues: string[] = [];
afterEach(async () => {
  for (const queue of queues.splice(0)) await applySchedules(environment.client, queue, [], 'fast');
});

interface Schedules {
  site?: string;
  /** Sites of the same schedule besides the first. */
  more?: string[];
  /** Null: feedback is read on demand only. */
  refresh?: string | null;
  address?: string;
}

/** A separate folder on the shared server; `configure` writes its docferry.yaml. */
async function place() {
  const org = `org-${randomUUID().slice(0, 8)}`;
  const domain = `docs.${org}.example`;
  queues.push(org);
  const cwd = await emptyFolder();
  const configure = ({ site, more = [], refresh = '{ every: 1h }', address = useDevServer().address }: Schedules) =>
    writeFile(
      join(cwd, 'docferry.yaml'),
      configText({
        address,
        taskQueue: org,
        organizations: `  - id: ${org}
    apiKey: dk_admin_${org}
${refresh === null ? '' : `    refresh: ${refresh}\n`}    projects: [{ id: prj_1 }]
    sites: [{ domains: ${JSON.stringify([domain, ...more])}${site ? `, schedule: ${site}` : ''} }]
`,
      }),
    );
  const run = (...args: string[]) => docferryJson(['schedules', ...args], { cwd });
  const text = async (...args: string[]) => (await docferry(['schedules', ...args], { cwd })).stdout;
  return { org, domain, cwd, configure, run, text };
}

const nightly = '{ cron: "0 6 * * *", timezone: Europe/Berlin }';

describe('docferry schedules', () => {
  it('plan says what apply then does, and both say so when there is nothing to do', async () => {
    const { org, domain, configure, run, text } = await place();
    const siteId = `docferry:${org}:export:${org}:${domain}`;
    await configure({ site: nightly });
    const planned = await run('plan');
    expect(planned).toMatchObject({ exitCode: 0, document: { update: [], delete: [], stop: [], unchanged: [] } });
    expect(planned.document.create).toHaveLength(2);
    expect(planned.document.create).toContainEqual({ id: siteId, when: '0 6 * * * Europe/Berlin' });
    const applied = await run('apply');
    expect(applied.document).toEqual(planned.document);
    expect(await text('plan')).toBe('nothing to do: 2 schedules are as configured\n');

    // What is configured no longer is found in Temporal's list, which has a new schedule only after a moment.
    await expect.poll(async () => (await namedSchedules(environment.client, org)).length).toBe(2);
    await configure({ site: '{ cron: "0 7 * * *", timezone: Europe/Berlin }', refresh: null });
    expect(await text('apply')).toBe(
      [
        `updated  ${domain}`,
        '  when: 0 6 * * * Europe/Berlin → 0 7 * * * Europe/Berlin',
        `deleted  ${org}/refresh; its data stays\n`,
      ].join('\n'),
    );
  });

  it('list shows what is scheduled, paused and changed by hand', async () => {
    const { org, domain, configure, run } = await place();
    await configure({ site: nightly });
    await run('apply');
    expect((await run('pause', domain, '--note', 'relaunch')).document).toEqual({
      schedules: [{ id: `docferry:${org}:export:${org}:${domain}`, paused: true }],
    });
    await environment.client.schedule.getHandle(`docferry:${org}:refresh:${org}`).update((before) => ({
      ...before,
      policies: { ...before.policies, overlap: 'ALLOW_ALL' },
      state: { ...before.state, remainingActions: 1 },
    }));
    const { document, stderr } = await run('list');
    const differs = ['overlap: ALLOW_ALL → SKIP', 'other settings: {"remainingActions":1} → {}'];
    expect(document).toMatchObject({
      schedules: [
        { name: domain, when: '0 6 * * * Europe/Berlin', paused: true, note: 'relaunch', next: [], drift: false },
        { name: `${org}/refresh`, paused: false, drift: true, differs, last: [] },
      ],
      missing: [],
    });
    expect(stderr).toContain(`${org}/refresh was changed by hand`);
    await run('apply');
    expect((await run('list')).document).toMatchObject({
      schedules: [{ paused: true }, { drift: false, differs: [] }],
    });
    expect((await run('resume', 'all')).document.schedules).toHaveLength(2);
    const handle = environment.client.schedule.getHandle(`docferry:${org}:export:${org}:${domain}`);
    expect((await handle.describe()).state.paused).toBe(false);
  });

  it('start at moments of their own within ten minutes of the one that the crons of many sites name, always the same', async () => {
    const { org, domain, configure, run } = await place();
    // Far from now: a start between two looks would change the next moments.
    const hour = (new Date().getUTCHours() + 12) % 24;
    const at = `T${String(hour).padStart(2, '0')}:0`;
    const more = Array.from({ length: 19 }, (_, n) => `docs${n}.${org}.example`);
    await configure({ site: `{ cron: "0 ${hour} * * *" }`, more });
    await run('apply');
    const nextOf = async (name: string) => {
      const handle = environment.client.schedule.getHandle(`docferry:${org}:export:${org}:${name}`);
      return (await handle.describe()).info.nextActionTimes[0]?.toISOString() ?? '';
    };
    const moments = await Promise.all([domain, ...more].map(nextOf));
    expect(moments.filter((moment) => moment.includes(at))).toEqual(moments);
    expect(new Set(moments).size).toBeGreaterThan(10);
    expect((await run('apply')).document).toMatchObject({ update: [], create: [] });
    expect(await Promise.all([domain, ...more].map(nextOf))).toEqual(moments);
    // Those that ask for no jitter start as their cron says.
    await configure({ site: `{ cron: "0 ${hour} * * *", jitter: 0s }`, more: more.slice(0, 1) });
    await run('apply');
    for (const name of [domain, ...more.slice(0, 1)]) expect(await nextOf(name)).toContain(`${at}0:00.000Z`);
  });

  it("pause --all and resume --all reach every schedule, and no other task queue's", async () => {
    const [mine, other] = [await place(), await place()];
    for (const { configure, run } of [mine, other]) {
      await configure({ site: nightly });
      await run('apply');
    }
    const pausedOf = async ({ run }: typeof mine) =>
      ((await run('list')).document.schedules as { paused: boolean; note: string }[]).map(({ paused, note }) =>
        paused ? note : 'goes on',
      );
    expect((await mine.run('pause', '--all', '--note', 'maintenance')).document.schedules).toHaveLength(2);
    expect(await pausedOf(mine)).toEqual(['maintenance', 'maintenance']);
    expect(await pausedOf(other)).toEqual(['goes on', 'goes on']);
    expect(await mine.run('pause', '--all', mine.domain)).toMatchObject({ exitCode: 2 });
    await mine.run('resume', '--all');
    expect(await pausedOf(mine)).toEqual(['goes on', 'goes on']);
  });

  it.skipIf(!hasTerminals).each([['all'], ['--all']])('on a terminal, pause %s asks first', async (all) => {
    const { cwd, configure, run } = await place();
    await configure({ site: nightly });
    await run('apply');
    const asked = new TerminalSession(inShell('schedules', 'pause', all), { cwd });
    await asked.says('pause 2 schedules?');
    asked.type('n\n');
    expect(await asked.ended()).not.toBe(0);
    const listed = (await run('list')).document.schedules as { paused: boolean }[];
    expect(listed.map(({ paused }) => paused)).toEqual([false, false]);
    const sure = new TerminalSession(inShell('schedules', 'pause', all, '--yes'), { cwd });
    expect(await sure.ended()).toBe(0);
    expect(sure.said).not.toContain('schedules?');
  });

  it('--org and --match pause, trigger and resume the schedules that they leave', async () => {
    const { org, domain, configure, run } = await place();
    await configure({ site: nightly, more: [`api.${org}.example`] });
    await run('apply');
    const idsOf = async (...args: string[]) =>
      ((await run(...args)).document.schedules as { id: string }[]).map(({ id }) => id.split(':').slice(2).join(':'));
    expect(await idsOf('pause', '--match', 'docs.*')).toEqual([`export:${org}:${domain}`]);
    expect(await idsOf('resume', '--match', `${org}/*.example`)).toHaveLength(2);
    expect(await idsOf('pause', '--org', org, '--match', 'refresh')).toEqual([`refresh:${org}`]);
    expect(await idsOf('resume', '--org', org)).toHaveLength(3);
    expect(await run('pause', '--match', 'nothing*')).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'NothingMatches' } },
    });
    expect(await run('pause', '--match', '[')).toMatchObject({ exitCode: 2 });
    expect(await run('pause', '--org', `${org}x`)).toMatchObject({
      exitCode: 4,
      document: { error: { hint: expect.stringMatching(`^did you mean ${org}\\?`) } },
    });
    expect(await run('pause', domain, '--org', org)).toMatchObject({ exitCode: 2 });
    expect(await run('pause')).toMatchObject({ exitCode: 2 });
  });

  it('list --page describes a hundred schedules and no more', async () => {
    const { org, configure, run } = await place();
    const more = Array.from({ length: 103 }, (_, n) => `docs${n + 1}.${org}.example`);
    await configure({ site: nightly, more });
    await run('apply');
    // A call that the server was too busy for is made again.
    const described = new Set<string>();
    const proxy = await silentProxy(useDevServer().address, (method, _, request) => {
      if (method === 'DescribeSchedule') described.add(request.toString('latin1'));
      return false;
    });
    await configure({ site: nightly, more, address: proxy.address });
    const first = await run('list', '--page', '1');
    expect(described.size).toBe(100);
    expect(first.stderr).toContain('page 1 of 2: 105 schedules in all');
    const second = await run('list', '--page', '2');
    expect(described.size).toBe(105);
    const namesOf = ({ document }: typeof first) => (document.schedules as { name: string }[]).map(({ name }) => name);
    expect([namesOf(first).length, namesOf(second)]).toEqual([
      100,
      ['docs100', 'docs101', 'docs102', 'docs103'].map((name) => `${name}.${org}.example`).concat(`${org}/refresh`),
    ]);
    expect((await run('list', '--page', '3')).document).toMatchObject({ schedules: [], missing: [], total: 105 });
    expect((await run('list', '--page', '0')).exitCode).toBe(2);
  });

  it('trigger and backfill name what they start', async () => {
    const { org, domain, configure, run } = await place();
    await configure({ site: nightly.replace('}', ', jitter: 0s }') });
    await run('apply');
    const id = `docferry:${org}:refresh:${org}`;
    expect((await run('trigger', 'refresh')).document).toEqual({
      schedules: [{ id, alreadyRunning: false }],
    });
    const info = async () => (await environment.client.schedule.getHandle(id).describe()).info;
    await expect.poll(async () => (await info()).runningActions.length).toBe(1);
    expect((await run('trigger', `${org}/refresh`)).document).toMatchObject({
      schedules: [{ alreadyRunning: true }],
    });
    const filled = await run('backfill', domain, '--from', '2026-10-24', '--to', '2026-10-26T12:00:00Z');
    expect(filled.document).toMatchObject({
      schedules: [{ runs: ['2026-10-24T04:00:00.000Z', '2026-10-25T05:00:00.000Z', '2026-10-26T05:00:00.000Z'] }],
    });
  });

  it('trigger takes several names, does nothing when one is wrong, and describes no other schedule', async () => {
    const { org, domain, configure, run } = await place();
    const more = [`docs2.${org}.example`];
    await configure({ site: nightly, more });
    await run('apply');
    const id = (work: string) => `docferry:${org}:${work}`;
    const [site, refresh] = [id(`export:${org}:${domain}`), id(`refresh:${org}`)];
    expect(await run('trigger', domain, 'docs.other.example')).toMatchObject({
      exitCode: 4,
      document: { error: { message: 'there is no schedule docs.other.example' } },
    });
    const running = async () =>
      (await environment.client.schedule.getHandle(site).describe()).info.runningActions.length;
    expect(await running()).toBe(0);
    const proxy = await silentProxy(
      useDevServer().address,
      (method, _, request) => method === 'DescribeSchedule' && request.includes('docs2.'),
    );
    await configure({ site: nightly, more, address: proxy.address });
    const triggered = await run('trigger', domain, 'refresh', domain);
    expect(triggered.document).toEqual({
      schedules: [
        { id: site, alreadyRunning: false },
        { id: refresh, alreadyRunning: false },
      ],
    });
    await expect.poll(running).toBe(1);
  });

  it('does to the others what fails for one of many, and names that one', async () => {
    const { configure, run, org, domain, cwd } = await place();
    await configure({});
    const sites = `[{ domain: ${domain}, schedule: ${nightly} }, { domain: b.${domain}, schedule: { every: 10m } }]`;
    const organizations = `  - { id: ${org}, apiKey: k, sites: ${sites} }\n`;
    const { address } = useDevServer();
    await writeFile(join(cwd, 'docferry.yaml'), configText({ address, taskQueue: org, organizations }));
    await run('apply');
    const { exitCode, document } = await run('backfill', '--all', '--from', '2026-10-01', '--to', '2026-10-12');
    expect(exitCode).toBe(1);
    expect(document.schedules).toHaveLength(2);
    expect(document.schedules).toContainEqual({
      id: `docferry:${org}:export:${org}:b.${domain}`,
      error: { code: 'Usage', message: expect.stringContaining('1000 times or more'), hint: 'choose a shorter period' },
    });
    expect(document.schedules).toContainEqual({
      id: `docferry:${org}:export:${org}:${domain}`,
      runs: expect.any(Array),
    });
  });

  it('finishes what has begun when Ctrl-C comes, and names the others', async () => {
    const { org, configure, run } = await place();
    const more = Array.from({ length: 40 }, (_, n) => `docs${n}.${org}.example`);
    await configure({ site: nightly, more, refresh: null });
    await run('apply');
    const proxy = await silentProxy(useDevServer().address, (method, number) => {
      if (method === 'PatchSchedule' && number === 3) process.emit('SIGINT');
      return false;
    });
    await configure({ site: nightly, more, refresh: null, address: proxy.address });
    const { exitCode, document } = await run('pause', '--all');
    expect(exitCode).toBe(1);
    const { schedules } = document as { schedules: { id: string; paused?: boolean; error?: { code: string } }[] };
    expect(schedules).toHaveLength(41);
    const begun = schedules.filter(({ error }) => error === undefined);
    expect(begun.length).toBeGreaterThanOrEqual(3);
    expect(begun.length).toBeLessThan(41);
    expect(new Set(schedules.map(({ error }) => error?.code))).toEqual(new Set([undefined, 'Interrupted']));
  });

  it('tells unknown and impossible requests apart by their exit codes', async () => {
    const { configure, run, cwd, domain } = await place();
    await configure({ site: nightly });
    await run('apply');
    expect(await run('pause', 'docs.other.example')).toMatchObject({
      exitCode: 4,
      document: { error: { code: 'UnknownSchedule', hint: expect.stringContaining(`known schedules: `) } },
    });
    expect((await run('backfill', domain, '--from', '2026-10-24', '--to', '2999-01-01')).exitCode).toBe(2);
    await writeFile(join(cwd, 'docferry.yaml'), configText({}));
    expect((await run('list')).exitCode).toBe(3);
  });
});
