import { describe, expect, it } from 'vitest';
import { withHeartbeats } from '../../src/activities/heartbeats.ts';
import { mockActivity } from '../tools/activity-dependencies.ts';

async function heartbeatsOf(work: (set: (page: number) => void) => Promise<void>): Promise<unknown[]> {
  const env = mockActivity();
  const beats: unknown[] = [];
  env.on('heartbeat', (details: unknown) => beats.push(details));
  const progress = { page: 0 };
  const set = (page: number) => {
    progress.page = page;
  };
  await env
    .run(() =>
      withHeartbeats(
        () => ({ ...progress }),
        () => work(set),
      ),
    )
    .catch(() => {});
  return beats;
}

describe('heartbeats', () => {
  it('of a short step that succeeds are none: each would be a request', async () => {
    expect(await heartbeatsOf(async (set) => set(3))).toEqual([]);
  });

  it('of a step that fails tell the next attempt how far it came', async () => {
    const beats = await heartbeatsOf(async (set) => {
      set(3);
      throw new Error('in the middle');
    });
    expect(beats).toEqual([{ page: 3 }]);
  });
});
