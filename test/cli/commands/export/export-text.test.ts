import { createColors } from 'picocolors';
import { expect, it } from 'vitest';
import { exportResultText, rollbackResultText } from '../../../../src/cli/commands/export/wait-for-export.ts';
import type { RolloutResult } from '../../../../src/exports/rules/site-export.ts';
import { whyEnded } from '../../../../src/exports/rules/site-export.ts';

const paint = createColors(false);
const rollouts: RolloutResult[] = [
  { target: 'directory:./a', outcome: 'failed', detail: 'RolloutFailed: no room' },
  { target: 'directory:./b', outcome: 'rolled-out', detail: 'switched' },
];
const ids = { workflowId: 'w', runId: 'r', org: 'acme', domain: 'docs.example' };
const facts = { ...ids, version: 'v2', contentDigest: 'ab', pages: 1, files: 2, url: 'http://b', rollouts };

it('names the targets that failed first, for exports, rollbacks and ended runs', () => {
  const exported = exportResultText(
    {
      ...facts,
      outcome: 'rollout-failed',
      jobId: 'job-1',
      jobsStarted: 1,
      possibleDuplicates: 0,
      archive: null,
      polls: 1,
      linksRequested: 1,
      reasons: [],
      held: null,
    },
    paint,
  );
  expect(exported.split('\n')[0]).toBe('rollout failed: docs.example is published, but directory:./a did not get it');
  const back = rollbackResultText({ ...facts, outcome: 'rollout-failed', previous: 'v3', held: 'v2' }, paint);
  expect(back.split('\n')[0]).toBe(
    'rollout failed: v2 of docs.example is current again, but directory:./a did not get it',
  );
  expect(whyEnded({ reasons: [], rollouts })).toBe('directory:./a: RolloutFailed: no room');
  expect(whyEnded({ error: 'JobFailed: x', rollouts })).toBe('JobFailed: x');
});
