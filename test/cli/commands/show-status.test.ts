import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFeedbackStore } from '../../../src/feedback/store/open-feedback-store.ts';
import type { ExportRunRow } from '../../../src/feedback/store/run-records.ts';
import { docferry, docferryJson, folderWithConfig } from '../../tools/cli/run-docferry.ts';
import { endedExport } from '../../tools/feedback/ended-export.ts';

describe('docferry status without Temporal', () => {
  it('says in one line what is unavailable, and shows the rest', async () => {
    const cwd = await folderWithConfig();
    const shown = await docferry(['status'], { cwd });
    expect(shown.exitCode).toBe(0);
    expect(shown.stderr.match(/warning/g)).toHaveLength(1);
    expect(shown.stderr).toContain('running work and next starts are unavailable');
    expect(shown.stdout).toContain('docs.acme.example');
    expect(shown.stdout).not.toContain('?');
    expect((await docferry(['status', '--check'], { cwd })).exitCode).toBe(3);
  });

  it('ends with 3 when the feedback store is away too, and with 4 for an unknown organization', async () => {
    const cwd = await folderWithConfig({
      organizations: `  - { id: acme, apiKey: k, sites: [{ domain: docs.acme.example }] }
store: { feedback: "postgres://nobody@127.0.0.1:1/none" }
`,
    });
    const [away, shown, unknown] = await Promise.all([
      docferryJson(['status'], { cwd }),
      docferry(['status'], { cwd }),
      docferry(['status', '--org', 'nobody'], { cwd }),
    ]);
    expect(away.document).toMatchObject({ error: { code: 'TemporalUnreachable' } });
    expect([shown.exitCode, unknown.exitCode]).toEqual([3, 4]);
  });
});

it('lists of what is past tell an empty one from one without a match', async () => {
  const cwd = await folderWithConfig();
  const store = await openFeedbackStore({ kind: 'sqlite', file: join(cwd, 'data/feedback.db') });
  await store.close();
  const said = async (args: string[]) => (await docferry(args, { cwd })).stdout;
  expect(await said(['audit'])).toBe('no audit entries yet\n');
  expect(await said(['audit', '--who', 'anna'])).toBe('no matching audit entries\n');
  expect(await said(['export', 'history', 'docs.acme.example'])).toBe('no runs of docs.acme.example yet\n');
  expect(await said(['feedback', 'history', 'prj_1', '--outcome', 'failed'])).toBe('no matching passes of prj_1\n');
});

describe('docferry history', () => {
  it('lists what ended within the time, of all sites and projects, and what failed first', async () => {
    const cwd = await folderWithConfig();
    const store = await openFeedbackStore({ kind: 'sqlite', file: join(cwd, 'data/feedback.db') });
    const run = (runId: string, hours: number, over: Partial<ExportRunRow> = {}) =>
      store.recordExportRun(endedExport(runId, hours, over));
    await run('old', 25, { outcome: 'failed' });
    await run('refused', 3, {
      outcome: 'rejected',
      detail: JSON.stringify({
        reasons: Array(3).fill({ rule: 'secret-file', path: '.env', detail: 'it holds secrets' }),
      }),
    });
    await run('fine', 1);
    await run('gone', 1, { domain: 'no.longer.example' });
    const pass = {
      org: 'acme',
      project: 'prj_1',
      pass: 'sweep',
      workflowId: 'w',
      dateFrom: null,
      dateTo: null,
    } as const;
    const begin = (passId: string) => store.beginPass({ ...pass, passId, runId: passId, startedAt: new Date() });
    await begin('running');
    await begin('failed');
    await store.finishPass('failed', {
      outcome: 'failed',
      error: 'RateLimited: too many requests',
      waitedMs: 0,
      finishedAt: new Date(),
    });
    const cut = { ...pass, project: '', pass: 'refresh', passId: 'cut', runId: 'cut', startedAt: new Date() } as const;
    await store.beginPass(cut);
    const finishedAt = new Date(Date.now() - 60_000);
    await store.finishPass('cut', { outcome: 'failed', error: 'terminated by op', waitedMs: 0, finishedAt });
    await store.close();

    const { document, exitCode } = await docferryJson(['history'], { cwd });
    expect(exitCode).toBe(0);
    const why = 'secret-file in .env: it holds secrets, and 2 more';
    expect(document).toMatchObject({
      ended: [
        { project: 'prj_1', pass: 'sweep', outcome: 'failed', bad: true, reason: 'too many requests' },
        { org: 'acme', pass: 'refresh', outcome: 'failed', bad: true, reason: 'terminated by op' },
        { domain: 'docs.acme.example', outcome: 'rejected', bad: true, reason: why },
        { domain: 'docs.acme.example', outcome: 'published', bad: false, reason: null },
      ],
      totals: { ended: 4, failed: 3 },
    });
    expect((await docferry(['history'], { cwd })).stdout).toMatch(/^all projects +failed/m);
    const failed = await docferry(['history', '--failed', '--since', '2d', '--match', 'docs.*'], { cwd });
    expect(failed.stdout).toMatch(
      new RegExp(`^name +outcome[^]+rejected .*${why}\\n[^]+failed[^]+3 runs ended in the last 48 h, 2 failed`),
    );
    expect(failed.stdout).not.toContain('published');
  });
});
