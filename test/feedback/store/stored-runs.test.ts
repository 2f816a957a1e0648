import { describe, expect, it } from 'vitest';
import type { ExportRunRow } from '../../../src/feedback/store/run-records.ts';
import { begin, entry, page, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

const run: ExportRunRow = {
  workflowId: 'export:acme:docs.acme.example',
  runId: 'run-1',
  org: 'acme',
  domain: 'docs.acme.example',
  startedAt: '2026-11-21T08:00:00.000Z',
  finishedAt: '2026-11-21T08:10:00.000Z',
  outcome: 'failed',
  jobId: null,
  jobsStarted: 1,
  version: null,
  contentDigest: null,
  polls: 7,
  detail: '{}',
  jobMs: null,
};

describe('export runs', () => {
  it('stores the row of a run, and replaces it when it is recorded again', async () => {
    await using at = await temporaryStore();
    await at.store.recordExportRun(run);
    const published: ExportRunRow = {
      ...run,
      outcome: 'published',
      jobId: 'job_1',
      version: '20261121T080900Z-3f9a2c1b8e7d',
      contentDigest: '3f9a2c1b8e7d',
      detail: '{"rollouts":[]}',
    };
    await at.store.recordExportRun(published);
    await at.store.recordExportRun(published);
    expect(await at.store.listExportRuns({})).toEqual([published]);
  });

  it('is listed newest first, by organization and domain, up to a limit', async () => {
    await using at = await temporaryStore();
    await at.store.recordExportRun(run);
    await at.store.recordExportRun({ ...run, runId: 'run-2', startedAt: '2026-11-21T09:00:00.000Z' });
    await at.store.recordExportRun({ ...run, runId: 'run-3', domain: 'api.acme.example' });
    await at.store.recordExportRun({ ...run, runId: 'run-4', org: 'globex' });
    const ids = async (filter: Parameters<typeof at.store.listExportRuns>[0]) =>
      (await at.store.listExportRuns(filter)).map(({ runId }) => runId);
    expect(await ids({})).toEqual(['run-2', 'run-4', 'run-3', 'run-1']);
    expect(await ids({ org: 'acme', domain: 'docs.acme.example' })).toEqual(['run-2', 'run-1']);
    expect(await ids({ org: 'acme', limit: 1 })).toEqual(['run-2']);
    await at.store.recordExportRun({ ...run, runId: 'run-5', outcome: 'published' });
    expect(await ids({ outcome: 'published' })).toEqual(['run-5']);
    expect(await ids({ since: '2026-11-21T09:00:00.000Z' })).toEqual(['run-2']);
  });

  it('tells how long the last jobs of a site took, the latest first, without those that tell nothing', async () => {
    await using at = await temporaryStore();
    const hour = (n: number) => `2026-11-21T0${n}:00:00.000Z`;
    for (const [n, jobMs] of [300_000, null, 2 ** 40, 310_000].entries()) {
      await at.store.recordExportRun({ ...run, runId: `run-${n}`, startedAt: hour(n), jobMs });
    }
    await at.store.recordExportRun({ ...run, runId: 'other', org: 'globex', jobMs: 1 });
    expect(await at.store.jobDurations('acme', run.domain, 10)).toEqual([310_000, 2 ** 40, 300_000]);
    expect(await at.store.jobDurations('acme', run.domain, 1)).toEqual([310_000]);
    expect(await at.store.jobDurations('acme', 'never.example', 1)).toEqual([]);
    expect((await at.store.listExportRuns({ org: 'acme' })).map(({ jobMs }) => jobMs)).toEqual([
      310_000,
      2 ** 40,
      null,
      300_000,
    ]);
  });
});

const site = { org: 'acme', domain: 'docs.acme.example' };
const project = { org: 'acme', project: 'prj_1' };
const hour = (n: number) => `2026-11-21T${String(n).padStart(2, '0')}:00:00.000Z`;
const refused = JSON.stringify({
  reasons: [{ rule: 'no-index', path: null, detail: '{"reasons":[{"rule":"not-approved"' }],
});
const declined = JSON.stringify({
  reasons: [{ rule: 'not-approved', path: null, detail: 'wrong logo' }],
  rollouts: [],
});

type Run = [outcome: ExportRunRow['outcome'], detail?: string];

/** What is said of a site with these runs, one an hour, each as long as ten minutes. */
async function latestOf(...runs: Run[]) {
  return (await recordsOf(...runs)).map(({ lastOutcome, lastAt, failingSince }) => [
    lastOutcome,
    lastAt.slice(11, 16),
    failingSince?.slice(11, 16),
  ]);
}

async function recordsOf(...runs: Run[]) {
  await using at = await temporaryStore();
  for (const [n, [outcome, detail = '{}']] of runs.entries()) {
    await at.store.recordExportRun({
      ...site,
      workflowId: 'export:acme:docs.acme.example',
      runId: `run-${n}`,
      startedAt: hour(n),
      finishedAt: hour(n).replace(':00:00', ':10:00'),
      outcome,
      jobId: 'job_1',
      jobsStarted: 1,
      version: null,
      contentDigest: null,
      polls: 1,
      detail,
      jobMs: null,
    });
  }
  const { sites } = await at.store.latestRecords({
    sites: [{ org: 'globex', domain: 'x.example' }, site],
    projects: [],
  });
  return sites;
}

describe('the latest runs of sites', () => {
  it('are the newest, of the sites that were asked for and have one', async () => {
    expect(await latestOf()).toEqual([]);
    expect(await latestOf(['failed'], ['published'])).toEqual([['published', '01:10', undefined]]);
  });

  it('tell since when a site fails: refused and badly rolled out count, what a person cancelled does not', async () => {
    expect(await latestOf(['published'], ['failed'], ['rejected', refused], ['rollout-failed'])).toEqual([
      ['rollout-failed', '03:10', '01:10'],
    ]);
    expect(await latestOf(['failed'], ['cancelled'])).toEqual([['cancelled', '01:10', '00:10']]);
    expect(await latestOf(['cancelled'])).toEqual([['cancelled', '00:10', undefined]]);
  });

  it('do not count a version that a person refused as a failure', async () => {
    expect(await latestOf(['failed'], ['rejected', declined])).toEqual([['rejected', '01:10', undefined]]);
    expect(await latestOf(['failed'], ['rejected', declined], ['failed'])).toEqual([['failed', '02:10', '02:10']]);
  });
});

describe('an export of some pages that did not become current', () => {
  const limited = '{"reasons":[],"rollouts":[],"limited":true}';

  it('ends no failure, and is one', async () => {
    expect(await latestOf(['failed'], ['published', limited])).toEqual([['published', '01:10', '00:10']]);
    expect(await latestOf(['published'], ['failed', limited])).toEqual([['failed', '01:10', '01:10']]);
    const said = JSON.stringify({ reasons: [{ rule: 'r', path: null, detail: '"limited":true' }] });
    expect(await latestOf(['failed'], ['published', said])).toEqual([['published', '01:10', undefined]]);
  });

  it('is no release of a week', async () => {
    await using at = await temporaryStore();
    for (const [n, detail] of [limited, '{}'].entries()) {
      await at.store.recordExportRun({ ...run, runId: `${n}`, outcome: 'published', version: `v${n}`, detail });
    }
    const { released } = await at.store.weekFigures('acme', hour(0), hour(23));
    expect(released).toMatchObject([{ versions: 1 }]);
  });
});

describe('when a site was last exported', () => {
  const last = async (...runs: Run[]) => (await recordsOf(...runs)).map(({ exportedAt }) => exportedAt.slice(11, 16));

  it('is the end of the last export that brought or confirmed a version, whatever came after it', async () => {
    const limited = '{"limited":true}';
    const after: Run[] = [['rejected', declined], ['failed'], ['cancelled'], ['unchanged', limited]];
    expect(await last(['published'], ['unchanged'], ...after)).toEqual(['01:10']);
    expect(await last(['rollout-failed'], ...after)).toEqual(['00:10']);
  });

  it('is the end of the first run while none did', async () => {
    expect(await last(['rejected', declined], ['rejected', declined])).toEqual(['00:10']);
  });
});

describe('why the latest run ended', () => {
  it('is told in words, cut to three hundred characters, unless all went well', async () => {
    const reasons = async (outcome: ExportRunRow['outcome'], detail: object) => {
      const [found] = await recordsOf([outcome, JSON.stringify(detail)]);
      return found?.lastReason;
    };
    expect(await reasons('failed', { error: 'JobFailed: it broke' })).toBe('it broke');
    expect(await reasons('failed', { error: 'ü'.repeat(400) })).toBe(`${'ü'.repeat(299)}…`);
    expect(await reasons('rejected', { reasons: [{ rule: 'ratio', path: null, detail: 'too much' }] })).toBe(
      'ratio: too much',
    );
    expect(await reasons('published', { rollouts: [{ target: 't', outcome: 'rolled-out', detail: 'd' }] })).toBeNull();
    expect(await reasons('cancelled', {})).toBeNull();
  });
});

describe('the latest passes of projects', () => {
  it('are the newest that ended, with the time at which all was last complete', async () => {
    await using at = await temporaryStore();
    const none = {
      ...project,
      lastPass: null,
      lastOutcome: null,
      lastAt: null,
      lastReason: null,
      newestReadAt: null,
      firstReading: false,
      verifiedUpTo: null,
      failingSince: null,
    };
    const latest = async () => (await at.store.latestRecords({ sites: [], projects: [project] })).projects;
    expect(await latest()).toEqual([none]);
    await wholePass(at.store, 'sweep-1', [entry('e')]);
    const [swept] = await latest();
    expect(swept).toMatchObject({ lastPass: 'sweep', lastOutcome: 'completed', failingSince: null });
    expect(swept?.verifiedUpTo).toBe(await at.store.verifiedUpTo('acme', 'prj_1'));
    expect(swept?.verifiedUpTo).not.toBeNull();
  });

  it('tell that a project is being read for the first time', async () => {
    await using at = await temporaryStore();
    const first = async () =>
      (await at.store.latestRecords({ sites: [], projects: [project] })).projects.map((found) => found.firstReading);
    await at.store.prepareRefresh(project.org, [project.project], 0);
    expect(await first()).toEqual([false]);
    const pass = await at.store.beginFirstReading(
      project,
      { workflowId: 'refresh:acme', runId: 'run' },
      new Date(1_000),
    );
    expect(await first()).toEqual([true]);
    if (pass === null) throw new Error('no pass');
    await at.store.upsertPage(page(pass.passId, []));
    await at.store.endFirstReading(pass.passId, new Date(2_000));
    expect(await first()).toEqual([false]);
  });

  it('tell since when one kind fails until it, or a sweep, completes', async () => {
    await using at = await temporaryStore();
    const pass = async (
      passId: string,
      kind: 'review' | 'incremental' | 'sweep',
      n: number,
      outcome: 'failed' | 'completed',
    ) => {
      const finishedAt = new Date(hour(n).replace(':00:00', ':10:00'));
      await begin(at.store, passId, { pass: kind, startedAt: new Date(hour(n)) });
      if (outcome === 'completed') await at.store.upsertPage({ ...page(passId, []), hasMore: false });
      await at.store.finishPass(passId, { outcome, error: null, waitedMs: 0, finishedAt });
    };
    const failing = async () =>
      (await at.store.latestRecords({ sites: [], projects: [project] })).projects.map(
        ({ lastPass, lastOutcome, failingSince }) => [lastPass, lastOutcome, failingSince?.slice(11, 16)],
      );
    await pass('a', 'review', 1, 'failed');
    await pass('b', 'review', 2, 'failed');
    await pass('c', 'incremental', 3, 'completed');
    expect(await failing()).toEqual([['incremental', 'completed', '01:10']]);
    await pass('d', 'sweep', 4, 'completed');
    expect(await failing()).toEqual([['sweep', 'completed', undefined]]);
  });

  it('tell since when refresh cannot read a project, and why: also of one that was never read', async () => {
    await using at = await temporaryStore();
    const turn = (state: 'begun' | 'ended', n: number) =>
      at.store.turnNotice({
        ...{ org: 'acme', type: 'pass.failed', subject: 'prj_1/refresh', state, reason: 'no such project' },
        at: new Date(hour(n)),
      });
    const latest = async () =>
      (await at.store.latestRecords({ sites: [], projects: [project, { org: 'globex', project: 'prj_1' }] })).projects;
    await turn('begun', 3);
    expect(await latest()).toMatchObject([
      { failingSince: hour(3), lastReason: 'no such project', newestReadAt: null },
      { failingSince: null, lastReason: null },
    ]);
    await turn('ended', 4);
    expect(await latest()).toMatchObject([{ failingSince: null, lastReason: null }, {}]);
  });

  it('take a sweep within dates for no whole one, and a reading up to a date for none of the newest entries', async () => {
    await using at = await temporaryStore();
    const sweep = async (
      n: number,
      outcome: 'failed' | 'completed',
      bounds: { dateFrom?: string; dateTo?: string } = {},
      kind: 'sweep' | 'incremental' = 'sweep',
    ) => {
      await begin(at.store, `pass-${n}`, { pass: kind, startedAt: new Date(hour(n)), ...bounds });
      await at.store.upsertPage({ ...page(`pass-${n}`, []), hasMore: false });
      const finishedAt = new Date(hour(n).replace(':00:00', ':10:00'));
      await at.store.finishPass(`pass-${n}`, { outcome, error: null, waitedMs: 0, finishedAt });
    };
    const latest = async () =>
      (await at.store.latestRecords({ sites: [], projects: [project] })).projects.map(
        ({ newestReadAt, failingSince }) => [newestReadAt?.slice(11, 16), failingSince?.slice(11, 16)],
      );
    await sweep(1, 'failed');
    await sweep(2, 'completed', { dateTo: '2026-01-01T00:00:00.000Z' });
    expect(await latest()).toEqual([[undefined, '01:10']]);
    await sweep(3, 'completed', { dateFrom: '2026-11-20T00:00:00.000Z' });
    expect(await latest()).toEqual([['03:00', '01:10']]);
    await sweep(4, 'completed');
    await sweep(5, 'completed', { dateTo: '2026-01-01T00:00:00.000Z' }, 'incremental');
    expect(await latest()).toEqual([['04:00', undefined]]);
  });
});
