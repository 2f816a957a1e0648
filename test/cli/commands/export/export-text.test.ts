import { createColors } from 'picocolors';
import { expect, it } from 'vitest';
import { exportResultText, rollbackResultText } from '../../../../src/cli/terminal/progress.ts';
import type { ExportResult, RolloutResult } from '../../../../src/exports/rules/site-export.ts';
import { whyEnded } from '../../../../src/exports/rules/site-export.ts';

const paint = createColors(false);
const rollouts: RolloutResult[] = [
  { target: 'directory:./a', outcome: 'failed', detail: 'no room' },
  { target: 'directory:./b', outcome: 'rolled-out', detail: 'switched' },
];
const ids = { workflowId: 'w', runId: 'r', org: 'acme', domain: 'docs.example' };
const facts = { ...ids, version: 'v2', contentDigest: 'ab', pages: 1, files: 2, url: 'http://b', rollouts };

it('names the targets that failed first, for exports, rollbacks and ended runs', () => {
  const failed: ExportResult = {
    ...facts,
    outcome: 'rollout-failed',
    jobId: 'job-1',
    jobsStarted: 2,
    possibleDuplicates: 1,
    archive: null,
    polls: 1,
    linksRequested: 1,
    reasons: [],
    held: null,
  };
  const exported = exportResultText(failed, paint);
  expect(exported.split('\n')[0]).toBe('rollout failed: docs.example is published, but directory:./a did not get it');
  const reasons = [{ rule: 'check-failed', path: null, detail: 'no page' }];
  const returned = (held: string) => exportResultText({ ...failed, reasons, held }, paint).split('\n')[0];
  expect(returned('v1')).toBe('rollout failed: a check refused the new version of docs.example; v1 is current again');
  expect(returned('v2')).toBe('rollout failed: a check refused the new version of docs.example; nothing is current');
  expect(exported).toContain('job-1 (up to 2 jobs were started)');
  const back = rollbackResultText({ ...facts, outcome: 'rollout-failed', previous: 'v3', held: 'v2' }, paint);
  expect(back.split('\n')[0]).toBe(
    'rollout failed: v2 of docs.example is current again, but directory:./a did not get it',
  );
});

it('says why a run ended: the first reason with its path, and how many more there are', () => {
  const failed = (target: string) => ({ target, outcome: 'failed', detail: 'no room' });
  expect(whyEnded({ rollouts })).toBe('directory:./a: no room');
  expect(whyEnded({ rollouts: [...rollouts, failed('directory:./c'), failed('directory:./d')] })).toBe(
    'directory:./a: no room, and 2 more',
  );
  expect(whyEnded({ error: 'JobFailed: the service says: x', rollouts })).toBe('the service says: x');
  expect(whyEnded({ error: 'TypeError: x is not a function' })).toBe('TypeError: x is not a function');
  const secret = { rule: 'secret-file', path: 'a/.env', detail: 'a file of this name holds secrets' };
  const said = 'secret-file in a/.env: a file of this name holds secrets';
  expect(whyEnded({ reasons: [secret] })).toBe(said);
  expect(whyEnded({ reasons: [secret, secret, secret] })).toBe(`${said}, and 2 more`);
  const unlisted = { rule: 'more-reasons', path: null, detail: '1200 more not listed' };
  expect(whyEnded({ reasons: [secret, secret, unlisted] })).toBe(`${said}, and 1,201 more`);
  expect(whyEnded({ reasons: [{ rule: 'not-approved', path: null, detail: 'prices: wrong' }] })).toBe('prices: wrong');
  expect(whyEnded({})).toBe('');
});
