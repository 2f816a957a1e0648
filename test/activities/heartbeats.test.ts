import { describe, expect, it } from 'vitest';
import { withHeartbeats } from '../../src/activities/heartbeats.ts';
import { mockActivity } from '../tools/activity-dependencies.ts';

/** The details of every heartbeat that a step sends. */
async function heartbeatsOf(work: () => Promise<void>): Promise<unknown[]> {
  const sent: unknown[] = [];
  const attempt = mockActivity();
  attempt.on('heartbeat', (details: unknown) => sent.push(details));
  const step = () =>
    withHeartbeats(
      () => ({ offset: 7 }),
      () => work(),
    );
  await attempt.run(step).catch(() => {});
  return sent;
}

describe('heartbeats', () => {
  it('cost nothing for a short step that succeeds', async () => {
    expect(await heartbeatsOf(async () => {})).toEqual([]);
  });

  it('leave the details of a step that fails to its next attempt', async () => {
    const failing = () => Promise.reject(new Error('reset'));
    expect(await heartbeatsOf(failing)).toEqual([{ offset: 7 }]);
  });
});
