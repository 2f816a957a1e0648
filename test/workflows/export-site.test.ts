import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import type { JobReading } from '../../src/activities/export-steps.ts';
import { versionName } from '../../src/exports/rules/site-export.ts';
import { exportHandle, exportState } from '../../src/operations/exports.ts';
import { eventCounts } from '../tools/temporal/event-counts.ts';
import {
  bundle,
  completed,
  digest,
  exportActivities,
  exportStarter,
  input,
  reading,
  sitePlan,
  targetsOf,
  unchanged,
} from '../tools/temporal/export-activities.ts';
import { forThisFile, timeSkippingEnvironment } from '../tools/temporal/temporal.ts';
import { untilChildrenEnd, withWorker } from '../tools/temporal/workflow-run.ts';

const env = await forThisFile(timeSkippingEnvironment());

const start = exportStarter(env);

describe('exportSite', () => {
  it('takes a site from the job to the rollout and says what became of it', async () => {
    const { activities, calls } = exportActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const result = await (await start(taskQueue, request)).result();
      expect(result).toMatchObject({
        domain: request.domain,
        outcome: 'published',
        jobId: 'job-1',
        jobsStarted: 1,
        contentDigest: digest,
        archive: { format: 'tar.gz', bytes: 1_234 },
        pages: 7,
        files: 9,
        polls: 1,
        linksRequested: 1,
        rollouts: [{ target: 'directory:./site', outcome: 'rolled-out' }],
        reasons: [],
      });
      expect(result.version).toMatch(/^\d{8}T\d{6}Z-abababababab$/);
      expect(calls.publishVersion).toMatchObject([{ version: result.version, promote: { expected: null } }]);
    });
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'published', jobId: 'job-1' }]);
  });

  it.each([
    { published: { url: 'http://bundles.example/x', heldAt: null }, steps: 0 },
    { published: null, steps: 1 },
  ])('lets the fetch publish new content, and publishes in a step of its own if that failed: $steps', async (each) => {
    const { published, steps } = each;
    const { activities, calls } = exportActivities({ fetchBundle: async () => ({ ...bundle, published }) });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const { version, url } = await (await start(taskQueue, input())).result();
      const { namedAt = 0, promote } = calls.fetchBundle?.[0]?.publish ?? {};
      expect(promote).toBe(true);
      expect(version).toBe(versionName(namedAt, digest));
      expect(calls.rollOut).toMatchObject([{ version }]);
      expect(calls.publishVersion ?? []).toHaveLength(steps);
      for (const step of calls.publishVersion ?? [])
        expect(step).toMatchObject({ version, promote: { expected: null } });
      if (published) expect(url).toBe(published.url);
    });
  });

  it('waits out two hours in which nothing can be fetched', { timeout: 60_000 }, async () => {
    let tries = 0;
    const { activities } = exportActivities({
      fetchBundle: async () => {
        tries += 1;
        if (tries <= 120) throw ApplicationFailure.retryable('the disk is full', 'StoreUnavailable');
        return bundle;
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      expect(await (await start(taskQueue, input())).result()).toMatchObject({ outcome: 'published' });
    });
    expect(tries).toBe(121);
  });

  it('polls rarely during a four-hour job, with every wait on a durable timer', async () => {
    let startedAt = 0;
    const { activities } = exportActivities({
      planExport: async () => ({ ...sitePlan, jobTimeoutMs: 5 * 3_600_000, jobAttempts: 1, targets: [] }),
      startJob: async () => {
        startedAt = await env.currentTimeMs();
        return { jobId: 'long' };
      },
      readJob: async () => {
        const percent = ((await env.currentTimeMs()) - startedAt) / 144_000;
        return percent >= 100 ? completed : reading({ percent });
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result.outcome).toBe('published');
      expect(result.polls).toBeLessThan(14_400 / 10 / 5);
    });
  });

  it('publishes nothing when the content is that of the current version, and still rolls it out', async () => {
    const { activities, calls } = exportActivities({ fetchBundle: async () => unchanged });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      const { version, url, archive } = unchanged.kept;
      expect(result).toMatchObject({ outcome: 'unchanged', version, url, archive });
    });
    expect(calls.publishVersion).toBeUndefined();
    expect(calls.rollOut).toMatchObject([{ version: unchanged.kept.version }]);
  });

  it('leaves targets alone that were seen to run the version, and gives it to the others', async () => {
    const web = { target: 'web', step: 'place', outcome: 'already-current', detail: 'runs it' } as const;
    const { activities, calls } = exportActivities({
      fetchBundle: async () => ({ ...unchanged, heldAt: 'v0', kept: { ...unchanged.kept, rollouts: [web] } }),
      planExport: async () => ({ ...sitePlan, targets: targetsOf('web', 'mirror') }),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result.rollouts).toMatchObject([
        { target: 'web', outcome: 'already-current' },
        { target: 'mirror', outcome: 'rolled-out' },
      ]);
    });
    expect(calls.rollOut).toMatchObject([{ target: 'mirror', version: 'v0' }]);
  });

  it('asks all workers for a site that the configuration of this one lacks', async () => {
    let asked = 0;
    const { activities, calls } = exportActivities({
      planExport: async () => {
        asked += 1;
        if (asked <= 4)
          throw ApplicationFailure.create({ message: 'not here', type: 'UnknownSite', nextRetryDelay: '10s' });
        return sitePlan;
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, input());
      expect(await handle.result()).toMatchObject({ outcome: 'published' });
      const { events } = await handle.fetchHistory();
      const scheduled = events?.map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
      expect(scheduled).toContain('planExport');
    });
    expect(calls.recordExportRun).toHaveLength(1);
  });

  it('publishes unchanged content as a new version when forced', async () => {
    const { activities, calls } = exportActivities({ fetchBundle: async () => ({ ...unchanged, kept: null }) });
    await withWorker(env, activities, async ({ taskQueue }) => {
      expect((await (await start(taskQueue, input({ force: true }))).result()).outcome).toBe('published');
    });
    expect(calls.fetchBundle).toMatchObject([{ force: true }]);
    expect(calls.publishVersion).toMatchObject([{ promote: { expected: { epoch: 4 } } }]);
  });

  it('does not make an export of a few paths the current version, unless promoted', async () => {
    const { activities, calls } = exportActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      await (await start(taskQueue, input({ paths: ['/a'] }))).result();
      await (await start(taskQueue, input({ paths: ['/a'], promote: true }))).result();
    });
    expect(calls.publishVersion).toMatchObject([{ promote: null }, { promote: { expected: null } }]);
    expect(calls.rollOut).toHaveLength(1);
    expect(calls.recordExportRun?.map((run) => JSON.parse((run as { detail: string }).detail).limited)).toEqual([
      true,
      undefined,
    ]);
  });

  it('starts another job when one fails, vanishes or takes too long, and gives up after the configured attempts', async () => {
    const ends: JobReading[] = [
      reading({ state: 'failed', error: 'renderer ran out of memory' }),
      reading({ state: 'missing' }),
      completed,
    ];
    let job = -1;
    const { activities, calls } = exportActivities({
      startJob: async () => ({ jobId: `job-${++job}` }),
      readJob: async () => ends[job] ?? completed,
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result).toMatchObject({ outcome: 'published', jobId: 'job-2', jobsStarted: 3 });
    });
    expect(calls.startJob).toHaveLength(3);

    const stuck = exportActivities({
      planExport: async () => ({ ...sitePlan, jobTimeoutMs: 600_000, jobAttempts: 2, targets: [] }),
      readJob: async () => reading({ status: 'succeeded' }),
    });
    await withWorker(env, stuck.activities, async ({ taskQueue }) => {
      await expect((await start(taskQueue, input())).result()).rejects.toMatchObject({
        cause: {
          type: 'JobFailed',
          message: expect.stringContaining('(its status is "succeeded"); 2 jobs were tried'),
        },
      });
    });
    expect(stuck.calls.startJob).toHaveLength(2);
    expect(stuck.calls.recordExportRun).toMatchObject([{ outcome: 'failed' }]);
  });

  it('starts another job when one vanishes before its bundle is asked for, a bounded number of times (E2)', async () => {
    let jobs = 0;
    const gone = async () => {
      throw ApplicationFailure.nonRetryable('the service no longer knows the job', 'JobFailed');
    };
    const once = exportActivities({
      startJob: async () => ({ jobId: `job-${++jobs}` }),
      fetchBundle: async ({ jobId }) => (jobId === 'job-1' ? gone() : bundle),
    });
    await withWorker(env, once.activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result).toMatchObject({ outcome: 'published', jobId: 'job-2', jobsStarted: 2, polls: 2 });
    });
    const always = exportActivities({ planExport: async () => ({ ...sitePlan, jobAttempts: 2 }), fetchBundle: gone });
    await withWorker(env, always.activities, async ({ taskQueue }) => {
      await expect((await start(taskQueue, input())).result()).rejects.toMatchObject({
        cause: { type: 'JobFailed', message: 'the service no longer knows the job; 2 jobs were tried' },
      });
    });
    expect(always.calls.startJob).toHaveLength(2);
  });

  it('keeps summaries as short as Temporal wants them, whatever the service calls its jobs and says of them', async () => {
    let jobs = 0;
    const { activities } = exportActivities({
      startJob: async () => ({ jobId: `${++jobs}`.repeat(1_000) }),
      readJob: async () =>
        jobs > 1 ? completed : reading({ state: 'failed', status: 'failed', error: '失败'.repeat(250) }),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, input());
      await handle.result();
      const { events } = await handle.fetchHistory();
      const summaries = (events ?? []).flatMap(({ userMetadata }) => userMetadata?.summary?.data ?? []);
      expect(summaries.length).toBeGreaterThan(8);
      expect(Math.max(...summaries.map((data) => data.length))).toBeLessThanOrEqual(200);
    });
  });

  it('repeats a start that may have arrived at growing intervals, and counts each repetition', async () => {
    const startedAt: number[] = [];
    const { activities } = exportActivities({
      startJob: async () => {
        startedAt.push(await env.currentTimeMs());
        if (startedAt.length <= 4) throw ApplicationFailure.nonRetryable('connection reset', 'StartUncertain');
        return { jobId: 'fifth' };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result).toMatchObject({ jobId: 'fifth', jobsStarted: 5, possibleDuplicates: 4 });
    });
    const pauses = startedAt.slice(1).map((at, index) => Math.floor((at - (startedAt[index] ?? 0)) / 10_000));
    expect(pauses).toEqual([1, 2, 4, 8]);
  });

  it.each([
    // 10, 20, 40, 80, 160, 320, then every 600 s, and once at the end of the hour.
    ['an hour', 3_600_000, 12],
    ['no time', 0, 1],
  ])('fails as an uncertain start when it could not be sure for %s', async (_words, startTimeoutMs, starts) => {
    const { activities, calls } = exportActivities({
      planExport: async () => ({ ...sitePlan, startTimeoutMs }),
      startJob: async () => {
        throw ApplicationFailure.nonRetryable('connection reset', 'StartUncertain');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = (await start(taskQueue, input())).result();
      await expect(result).rejects.toMatchObject({ cause: { cause: { type: 'StartUncertain' } } });
    });
    expect(calls.startJob).toHaveLength(starts);
  });

  it('gives up after three answers to starts that cannot be read, and says meanwhile why', async () => {
    const { activities, calls } = exportActivities({
      startJob: async () => {
        throw ApplicationFailure.nonRetryable('jobId: missing', 'StartUncertain', 'answered');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const request = input();
      const handle = await start(taskQueue, request);
      const seen = () => exportState(env.client, request.org, request.domain);
      await expect
        .poll(seen)
        .toMatchObject({ phase: 'starting', failedStart: { attempt: 2, reason: 'StartUncertain: jobId: missing' } });
      expect((await handle.describe()).searchAttributes).toMatchObject({ DocferryPhase: ['starting'] });
      await expect(handle.result()).rejects.toMatchObject({ cause: { cause: { type: 'StartUncertain' } } });
    });
    expect(calls.startJob).toHaveLength(3);
  });

  it('repeats a start at once when its worker shut down, which uses up no time', async () => {
    let starts = 0;
    const { activities } = exportActivities({
      planExport: async () => ({ ...sitePlan, startTimeoutMs: 0 }),
      startJob: async () => {
        starts += 1;
        if (starts <= 2) throw ApplicationFailure.nonRetryable('this attempt was ended', 'WorkerShutdown');
        return { jobId: 'third' };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result).toMatchObject({ jobId: 'third', jobsStarted: 3, possibleDuplicates: 2 });
    });
  });

  it('ends with the reasons when the archive is refused, and publishes nothing', async () => {
    const reasons = [{ rule: 'path-traversal', path: '../etc/passwd', detail: 'leads out of the site' }];
    const { activities, calls } = exportActivities({
      fetchBundle: async () => ({ ok: false, reasons, linksRequested: 1, pages: 0, files: 0, archive: null }),
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result).toMatchObject({ outcome: 'rejected', reasons, version: null, url: null });
    });
    expect(calls.publishVersion).toBeUndefined();
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'rejected' }]);
  });

  it('ends as a failed rollout when a target fails, and goes on with the others', async () => {
    const { activities, calls } = exportActivities({
      planExport: async () => ({ ...sitePlan, targets: targetsOf('bad', 'good'), webhooks: ['chat'] }),
      sendWebhook: async ({ messageId }) => ({ messageId, status: 204, attempts: 1 }),
      rollOut: async ({ target, step }) => {
        if (target === 'bad') throw ApplicationFailure.nonRetryable('read-only file system', 'RolloutFailed');
        return { target, step, outcome: 'rolled-out', detail: 'switched' };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, input());
      const result = await handle.result();
      expect(result).toMatchObject({ outcome: 'rollout-failed', url: expect.stringContaining('http') });
      expect(result.rollouts).toMatchObject([
        { target: 'bad', outcome: 'failed', detail: 'read-only file system' },
        { target: 'good', outcome: 'rolled-out' },
      ]);
      expect(calls.publishVersion).toMatchObject([{ version: result.version, promote: { expected: null } }]);
      expect(calls.recordExportRun).toMatchObject([{ outcome: 'rollout-failed', version: result.version }]);
      await untilChildrenEnd(env, handle);
      expect(calls.sendWebhook).toMatchObject([{ event: { data: { outcome: 'rollout-failed' } } }]);
    });
  });

  it('ends as a failed rollout when nothing changed and a target that is tried again fails', async () => {
    const { version } = unchanged.kept;
    const { activities, calls } = exportActivities({
      fetchBundle: async () => unchanged,
      rollOut: async () => {
        throw ApplicationFailure.nonRetryable('read-only file system', 'RolloutFailed');
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const result = await (await start(taskQueue, input())).result();
      expect(result).toMatchObject({ outcome: 'rollout-failed', version });
    });
    expect(calls.publishVersion).toBeUndefined();
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'rollout-failed', version }]);
  });

  it('continues a carried run where it was: the same job, its polls counted on', async () => {
    const { activities, calls } = exportActivities();
    await withWorker(env, activities, async ({ taskQueue }) => {
      const now = await env.currentTimeMs();
      const carried = {
        startedAt: now - 60_000,
        storeId: 'store-1',
        jobId: 'carried-job',
        jobStartedAt: now - 50_000,
        jobsStarted: 1,
        possibleDuplicates: 0,
        polls: 41,
        percent: 50,
        pageCount: 3,
        samples: [],
        linksRequested: 0,
        runningMs: 0,
      };
      const result = await (await start(taskQueue, { ...input(), carried })).result();
      expect(result).toMatchObject({ jobId: 'carried-job', polls: 42, jobsStarted: 1 });
    });
    expect(calls.startJob).toBeUndefined();
    expect(calls.readJob).toMatchObject([{ jobId: 'carried-job' }]);
  });
});

describe('a version that a step refuses (E9)', () => {
  const steps = ['place', 'check'] as const;
  const targets = ['eu', 'us', 'asia'].map((target) => ({ target, steps: [...steps] }));
  const before = '20260101T000000Z-000000000000';
  const current = { version: before, contentDigest: 'ef'.repeat(32), publishedAt: 'x', epoch: 4 };
  const refuse = (detail: string) => Promise.reject(ApplicationFailure.nonRetryable(detail, 'VersionRefused'));

  /** Activities of an export whose check at `us` fails, and what they do, in order. */
  function refusing(replace: Parameters<typeof exportActivities>[0] = {}) {
    const order: string[] = [];
    const made = exportActivities({
      planExport: async () => ({ ...sitePlan, targets }),
      fetchBundle: async () => ({ ...bundle, current }),
      rollOut: async ({ target, step, version }) => {
        order.push(`${version === before ? 'before' : 'new'} ${target} ${step}`);
        if (target === 'us' && step === 'check' && version !== before) return refuse('the old version');
        return { target, step, outcome: 'rolled-out', detail: 'ok' };
      },
      returnToVersionBefore: async () => {
        order.push('return');
        return { version: before };
      },
      ...replace,
    });
    return { order, ...made };
  }

  async function refused(replace: Parameters<typeof exportActivities>[0] = {}) {
    const { order, activities, calls } = refusing(replace);
    let result: Awaited<ReturnType<Awaited<ReturnType<typeof start>>['result']>> | undefined;
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, input());
      result = await handle.result();
      await untilChildrenEnd(env, handle);
    });
    return { order, result, calls };
  }

  it('returns the site to the version before: pointer first, then what was changed, and later targets stay', async () => {
    const { order, result, calls } = await refused();
    expect(order).toEqual([
      ...['new eu place', 'new eu check', 'new us place', 'new us check', 'return'],
      ...['before eu place', 'before eu check', 'before us place', 'before us check'],
    ]);
    expect(result).toMatchObject({
      outcome: 'rollout-failed',
      held: before,
      reasons: [
        { rule: 'check-failed', detail: expect.stringContaining(`old version; the site is back at ${before}`) },
      ],
      rollouts: [
        { target: 'eu', outcome: 'failed', detail: `runs ${before} again` },
        { target: 'us', outcome: 'failed', detail: expect.stringMatching(/^runs .* again; .*the old version/) },
      ],
    });
    const { version } = result ?? {};
    expect(calls.returnToVersionBefore).toMatchObject([{ version, reason: expect.stringContaining('us: ') }]);
    expect(calls.rollOut?.at(-1)).toMatchObject({ version: before, previous: version, force: false });
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'rollout-failed', version }]);
    expect(JSON.parse(calls.recordExportRun?.[0]?.detail ?? '{}')).toMatchObject({ held: before });
  });

  it('returns it to the end even when it is cancelled half-way', async () => {
    const request = input();
    const { order, activities, calls } = refusing({
      returnToVersionBefore: async () => {
        await exportHandle(env.client, request.org, request.domain).cancel();
        return { version: before };
      },
    });
    await withWorker(env, activities, async ({ taskQueue }) => {
      const handle = await start(taskQueue, request);
      expect(await handle.result()).toMatchObject({ outcome: 'rollout-failed', held: before });
      await untilChildrenEnd(env, handle);
    });
    expect(order.slice(-4)).toEqual(['before eu place', 'before eu check', 'before us place', 'before us check']);
    expect(calls.recordExportRun).toMatchObject([{ outcome: 'rollout-failed' }]);
  });

  it('says loudly what of the return failed, and tries the other targets', async () => {
    const { order, result } = await refused({
      rollOut: async ({ target, step, version }) => {
        const isBack = version === before;
        if (isBack && target === 'eu') return Promise.reject(ApplicationFailure.nonRetryable('full', 'RolloutFailed'));
        if (!isBack && target === 'us') return refuse('half a site');
        return { target, step, outcome: 'rolled-out', detail: 'ok' };
      },
    });
    expect(order).toEqual(['return']);
    expect(result).toMatchObject({
      outcome: 'rollout-failed',
      held: before,
      reasons: [{ rule: 'return-failed', detail: expect.stringContaining('eu (full)') }, { rule: 'check-failed' }],
      rollouts: [
        { detail: expect.stringMatching(/^the return to .* failed/) },
        { detail: expect.stringMatching(/again/) },
      ],
    });
    const away = await refused({
      returnToVersionBefore: () => Promise.reject(ApplicationFailure.nonRetryable('away', 'StoreUnavailable')),
    });
    expect(away.order).toHaveLength(4);
    expect(away.result).toMatchObject({ held: null, reasons: [{ rule: 'return-failed' }, { rule: 'check-failed' }] });
  });

  it('needs at most 70 events when a checked target gets the version, and 55 when nothing has changed', async () => {
    const checked = [{ target: 'eu', steps: [...steps] }];
    const eventsOf = async (fetchBundle: typeof unchanged | typeof bundle) => {
      let total = 0;
      let polls = 0;
      const { activities, calls } = exportActivities({
        planExport: async () => ({ ...sitePlan, targets: checked }),
        readJob: async () => (++polls < 3 ? reading() : completed),
        fetchBundle: async () => fetchBundle,
      });
      await withWorker(env, activities, async ({ taskQueue }) => {
        const handle = await start(taskQueue, input());
        await handle.result();
        total = (await eventCounts(handle)).total;
        await untilChildrenEnd(env, handle);
      });
      return { total, rollOuts: (calls.rollOut ?? []).map(({ step }) => step), polls };
    };
    const atOnce = { ...bundle, current, published: { url: 'http://bundles.example/x', heldAt: null } };
    const published = await eventsOf(atOnce);
    expect(published).toMatchObject({ rollOuts: ['place', 'check'], polls: 3 });
    expect(published.total).toBeLessThanOrEqual(70);
    const known = [{ target: 'eu', step: 'place', outcome: 'already-current', detail: 'runs it' }] as const;
    const same = await eventsOf({ ...unchanged, kept: { ...unchanged.kept, rollouts: [...known] } } as never);
    expect(same).toMatchObject({ rollOuts: [], polls: 3 });
    expect(same.total).toBeLessThanOrEqual(55);
  });

  it('says that nothing is current when no earlier version is left', async () => {
    const { order, result } = await refused({
      fetchBundle: async () => bundle,
      returnToVersionBefore: async () => ({ version: null }),
    });
    expect(order).toHaveLength(4);
    expect(result).toMatchObject({
      outcome: 'rollout-failed',
      held: result?.version,
      reasons: [{ rule: 'check-failed', detail: expect.stringContaining('nothing is current') }],
    });
    // Nothing is rolled out of what was refused, nor of anything else.
    const { version } = unchanged.kept;
    const reasons = [{ rule: 'check-failed', path: null, detail: 'us: the old version' }];
    const again = await refused({
      fetchBundle: async () => ({ ...unchanged, current: null, heldAt: version, kept: { ...unchanged.kept, reasons } }),
    });
    expect(again.result).toMatchObject({ outcome: 'unchanged', version, held: version, reasons });
    expect(again.calls.rollOut).toBeUndefined();
  });

  it('returns nothing for what speaks of the target, nor where the site is held already', async () => {
    const full = () => Promise.reject(ApplicationFailure.nonRetryable('full', 'RolloutFailed'));
    const { result, calls } = await refused({ rollOut: full });
    expect(result).toMatchObject({ outcome: 'rollout-failed', held: null, reasons: [], rollouts: [{}, {}, {}] });
    expect(calls.returnToVersionBefore).toBeUndefined();
    const reasons = [{ rule: 'check-failed', path: null, detail: 'us: the old version' }];
    const { version } = unchanged.kept;
    const held = await refused({
      fetchBundle: async () => ({ ...unchanged, heldAt: before, kept: { ...unchanged.kept, reasons } }),
      rollOut: () => refuse('still wrong'),
    });
    expect(held.calls.returnToVersionBefore).toBeUndefined();
    expect(held.result).toMatchObject({
      outcome: 'rollout-failed',
      held: before,
      reasons: [{ rule: 'return-failed', detail: expect.stringContaining('but not eu (still wrong)') }, ...reasons],
    });
    // A forced version was refused, and the same content is back in service as the version before.
    const same = await refused({
      fetchBundle: async () => ({ ...unchanged, heldAt: version, kept: { ...unchanged.kept, reasons } }),
    });
    expect(same.result).toMatchObject({
      outcome: 'rollout-failed',
      held: version,
      reasons: [{ rule: 'return-failed', detail: expect.stringContaining('but not us') }, ...reasons],
    });
    const quiet = await refused({
      fetchBundle: async () => ({ ...unchanged, heldAt: before, kept: { ...unchanged.kept, reasons } }),
    });
    expect(quiet.result).toMatchObject({ outcome: 'unchanged', held: before, reasons });
    expect(quiet.calls.rollOut).toMatchObject(Array(6).fill({ version: before }));
  });
});
