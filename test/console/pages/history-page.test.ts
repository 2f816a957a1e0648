import { expect, it, onTestFinished } from 'vitest';
import type { ExportRunRow } from '../../../src/feedback/store/run-records.ts';
import { endedRuns } from '../../../src/operations/history.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { ask, runningConsole, signIn } from '../../tools/console/running-console.ts';
import { endedExport, hoursAgo } from '../../tools/feedback/ended-export.ts';
import { temporaryStore } from '../../tools/feedback/temporary-store.ts';

it('lists what ended in a day, failed runs first, and narrows it down by its address', async () => {
  const at = await temporaryStore();
  onTestFinished(() => at[Symbol.asyncDispose]());
  const run = (runId: string, hours: number, over: Partial<ExportRunRow> = {}) =>
    at.store.recordExportRun(endedExport(runId, hours, over));
  await run('fine', 2);
  await run('old', 30, { outcome: 'unchanged' });
  await run('gone', 1, { domain: 'no.longer.example' });
  const reasons = [{ rule: 'secret-file', path: '<b>.env', detail: 'it holds secrets' }];
  await run('refused', 3, { outcome: 'rejected', detail: JSON.stringify({ reasons }) });
  const pass = { org: 'acme', workflowId: 'w', dateFrom: null, dateTo: null, startedAt: hoursAgo(1) };
  await at.store.beginPass({ ...pass, project: 'prj_1', pass: 'sweep', passId: 'p', runId: 'p' });
  await at.store.finishPass('p', { outcome: 'cancelled', error: null, waitedMs: 0, finishedAt: hoursAgo(0) });
  await at.store.beginPass({ ...pass, project: '', pass: 'refresh', passId: 'r', runId: 'r' });
  await at.store.finishPass('r', {
    outcome: 'failed',
    error: 'Cut: terminated by op',
    waitedMs: 0,
    finishedAt: hoursAgo(4),
  });
  const setting = { ...fakeSetting({ calls: [], auditEntries: [] }), openFeedback: async () => at.open() };
  const console = await runningConsole({ setting });
  const cookie = await signIn(console);
  const show = async (query = '') => {
    const { status, text } = await ask(console, `/history${query}`, { headers: { cookie } });
    expect(status).toBe(200);
    const marks = ['scope="row"', 'data-name="kind"', 'data-name="outcome"', 'data-name="why"'];
    const cells = (row: string) => marks.map((mark) => new RegExp(`${mark}>(.*?)</t[dh]>`).exec(row)?.[1] ?? '');
    const rows = text.split('<tr>').slice(2).map(cells);
    return { text, rows: rows.map((row) => row.map((cell) => cell.replaceAll(/<[^>]+>/g, '')).join(' · ')) };
  };
  const { text, rows } = await show();
  expect(rows).toEqual([
    'docs.acme.example · export · rejected · secret-file in &lt;b&gt;.env: it holds secrets.',
    'all projects of acme · refresh · failed · Cut: terminated by op.',
    'prj_1 · sweep · cancelled · ',
    'docs.acme.example · export · published · ',
  ]);
  expect(text).toContain('4 runs ended in the last 24 h, 2 failed.');
  expect(text).toContain('href="/sites/acme/docs.acme.example"');
  expect(text).toContain('href="/projects/acme/prj_1"');
  expect(text).toContain(
    'href="http://localhost:8233/namespaces/default/workflows/export%3Aacme%3Adocs.acme.example/refused"',
  );
  expect(text).toContain('<a href="/history" aria-current="page">');
  const kinds = async (query: string) => (await show(query)).rows.map((row) => row.split(' · ').slice(1, 3).join(' '));
  expect(await kinds('?outcome=bad')).toEqual(['export rejected', 'refresh failed']);
  expect(await kinds('?outcome=failed')).toEqual(['refresh failed']);
  expect(await kinds('?kind=sweep')).toEqual(['sweep cancelled']);
  expect(await kinds('?q=DOCS')).toEqual(['export rejected', 'export published']);
  expect(await kinds('?q=prj')).toEqual(['sweep cancelled']);
  expect(await kinds('?org=other')).toEqual([]);
  expect(await kinds('?since=1h')).toEqual(['sweep cancelled']);
  expect((await kinds('?since=7d')).at(-1)).toBe('export unchanged');
  expect((await kinds('?since=constructor&page=9999')).length).toBe(4);
});

it('reads the newest and what went wrong, where more ended than a page can hold', async () => {
  const at = await temporaryStore();
  onTestFinished(() => at[Symbol.asyncDispose]());
  const outcomes = [
    'rejected',
    'published',
    'rollout-failed',
    'unchanged',
    'failed',
    'published',
    'unchanged',
  ] as const;
  for (const [hour, outcome] of outcomes.entries()) {
    // The first of them began last: the limit keeps the latest ends.
    const startedAt = hoursAgo(20 + hour).toISOString();
    await at.store.recordExportRun(endedExport(`${hour}`, 10 - hour, { startedAt, outcome }));
  }
  const since = hoursAgo(24).toISOString();
  const ended = (most?: number) => endedRuns(at.store, since, [{ org: 'acme', domain: 'docs.acme.example' }], most);
  const { runs, more } = await ended(2);
  expect(runs.map(({ outcome }) => outcome)).toEqual([
    'failed',
    'rollout-failed',
    'rejected',
    'unchanged',
    'published',
  ]);
  expect(more).toBe(true);
  expect(await ended(8)).toEqual(await ended());
  expect((await ended()).more).toBe(false);
});
