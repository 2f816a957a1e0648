import { describe, expect, it } from 'vitest';
import { type EndedExport, exportNotices, passNotices } from '../../../src/runs/rules/notices.ts';

const version = '20261121T040200Z-3f9a2c1b8e7d';
const run = (outcome: EndedExport['outcome'], detail: object = {}, more: Partial<EndedExport> = {}) =>
  exportNotices({
    domain: 'docs.acme.example',
    outcome,
    jobId: 'job_1',
    version,
    detail: JSON.stringify(detail),
    ...more,
  });
/** `export.failed begun`, silent ones in brackets. */
const words = (notices: ReturnType<typeof run>) =>
  notices.map(({ type, state, silent }) => (silent ? `(${type} ${state})` : `${type} ${state}`));
const decided = ['approval.wanted ended', '(approval.expiring ended)'];
const to = (outcome: string) => ({ target: 'directory:./site', outcome, detail: 'it is full' });

describe('of an export that has ended people are told', () => {
  it.each([
    [
      'published',
      { rollouts: [to('rolled-out')] },
      ['export.failed ended', 'export.refused ended', 'rollout.failed ended'],
    ],
    ['unchanged', {}, ['export.failed ended', 'export.refused ended']],
    [
      'rollout-failed',
      { rollouts: [to('failed')] },
      ['export.failed ended', 'export.refused ended', 'rollout.failed begun'],
    ],
    // Some pages say nothing of the whole site.
    ['published', { limited: true }, []],
    [
      'rejected',
      { limited: true, reasons: [{ rule: 'no-index', path: null, detail: 'none' }] },
      ['export.refused begun'],
    ],
    ['failed', { limited: true, error: 'x' }, ['export.failed begun']],
    // A check refused the version, and the site returned: one message, until other content comes.
    [
      'rollout-failed',
      { rollouts: [to('failed')], held: 'v1', reasons: [{ rule: 'check-failed', path: null, detail: 'old pages' }] },
      ['export.failed ended', 'export.refused ended', 'rollout.failed begun'],
    ],
    [
      'unchanged',
      { rollouts: [to('already-current')], held: 'v1', reasons: [{ rule: 'check-failed', path: null, detail: 'x' }] },
      ['export.failed ended', 'export.refused ended'],
    ],
    ['failed', { error: 'JobFailed: it failed' }, ['export.failed begun']],
    ['cancelled', { error: 'CancelledFailure' }, []],
    [
      'rejected',
      { reasons: [{ rule: 'secret-file', path: '.env', detail: 'x' }] },
      ['export.failed ended', 'export.refused begun'],
    ],
    ['rejected', { reasons: [{ rule: 'not-approved', path: null, detail: 'says Jane' }] }, ['export.failed ended']],
  ] as const)('when it was %s (%j)', (outcome, detail, expected) => {
    expect(words(run(outcome, detail))).toEqual([...decided, ...expected]);
  });

  it('why, in rules and failures, never in the words of a person', () => {
    const [wanted] = run('rejected', { reasons: [{ rule: 'not-approved', path: null, detail: 'says Jane' }] });
    expect(wanted?.reason).toBe('rejected');
    const refused = run('rejected', {
      reasons: [
        { rule: 'secret-file', path: '.env', detail: 'x' },
        { rule: 'no-page', path: null, detail: 'y' },
      ],
    });
    expect(refused.at(-1)?.reason).toBe('secret-file in .env: x, and 1 more');
    const failed = run('rollout-failed', { rollouts: [to('failed'), { ...to('rolled-out'), target: 'other' }] }).at(-1);
    expect(failed).toMatchObject({ reason: 'directory:./site: it is full', facts: { version, failed: 1, targets: 2 } });
    expect(run('failed', { error: `JobFailed: ${'x'.repeat(5_000)}\n\u001b[2J` }).at(-1)?.reason?.length).toBe(300);
  });
});

it('of a pass that has ended people are told what ends a failure: of a sweep, only one of everything', () => {
  const about = { project: 'prj_1', outcome: 'completed', error: null, dateTo: null };
  const ended = [{ type: 'pass.failed', subject: 'prj_1/sweep', state: 'ended' }];
  expect(passNotices({ ...about, pass: 'sweep', dateFrom: null })).toEqual(ended);
  expect(passNotices({ ...about, pass: 'sweep', dateFrom: '2026-11-27' })).toEqual([]);
  expect(passNotices({ ...about, pass: 'incremental', dateFrom: '2026-11-27' })).toHaveLength(1);
});

describe('of a rollback', () => {
  const rollback = (outcome: EndedExport['outcome'], detail: object) => run(outcome, detail, { jobId: null });
  it('people are told once, and of the hold only when it ends', () => {
    const done = rollback('rolled-back', { previous: 'v2', rollouts: [to('rolled-out')] });
    expect(words(done)).toEqual(['site.rolled-back happened', '(site.held begun)', 'rollout.failed ended']);
    expect(done[0]?.facts).toEqual({ version, previous: 'v2' });
    expect(words(rollback('rollout-failed', { rollouts: [to('failed')] }))).toContain('rollout.failed begun');
  });

  it('that failed only the person who asked is told', () => {
    expect(rollback('failed', { error: 'x' })).toEqual([]);
    expect(rollback('cancelled', {})).toEqual([]);
  });
});
