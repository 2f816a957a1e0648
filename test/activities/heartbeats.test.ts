import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { describe, expect, it, vi } from 'vitest';
import { failedBy, type HeartbeatAnswer } from '../../src/activities/attempts.ts';
import { stillMine, whileMine, withHeartbeats } from '../../src/activities/heartbeats.ts';
import { activityScene, failureOf, mockActivity } from '../tools/activity-dependencies.ts';

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

describe('failures of a step', () => {
  /** One attempt after another, each with the last details of the one before. */
  async function attemptsOf(steps: (() => Promise<unknown>)[]) {
    let heartbeatDetails: unknown;
    for (const [i, step] of steps.entries()) {
      const attempt = mockActivity({ attempt: i + 1, heartbeatDetails });
      attempt.on('heartbeat', (details: unknown) => {
        heartbeatDetails = details;
      });
      await attempt.run(step).catch(() => {});
    }
    return heartbeatDetails;
  }
  const details = () => ({ offset: 7 });

  it('are counted by their cause, from attempt to attempt, beside the details', async () => {
    const counted: number[] = [];
    const lacking = async () => counted.push(failedBy('unconfigured'));
    const failing = () =>
      withHeartbeats(details, async () => {
        counted.push(failedBy('malformed'));
        throw new Error('malformed');
      });
    const other = () => withHeartbeats(details, () => Promise.reject(new Error('down')));
    const last = await attemptsOf([other, lacking, other, failing, lacking, other]);
    expect(counted).toEqual([1, 1, 2]);
    expect(last).toEqual({ offset: 7, failures: { unconfigured: 2, malformed: 1 } });
  });
});

/** A step that acts once, with what Temporal answers to its heartbeats; unreachable without an answer. */
function actingStep(answers: (HeartbeatAnswer | null)[], isLocal = false) {
  const seen: { details: unknown[]; acted: number; signal: AbortSignal | null } = {
    details: [],
    acted: 0,
    signal: null,
  };
  const attempt = mockActivity({ isLocal });
  const recordHeartbeat = async (_token: Uint8Array, details: unknown) => {
    seen.details.push(details);
    const answer = answers.shift() ?? null;
    if (answer === null && answers.length === 0) attempt.cancel('TIMED_OUT');
    if (answer === 'cancelled') attempt.cancel('CANCELLED');
    return answer ?? 'unreachable';
  };
  const run = () =>
    attempt.run(() =>
      withHeartbeats(
        () => ({ offset: 7 }),
        async (signal) => {
          seen.signal = signal;
          await stillMine({ recordHeartbeat });
          seen.acted += 1;
        },
      ),
    );
  return { seen, run, recordHeartbeat };
}

describe('a step that is about to change something outside (E11)', () => {
  it('does so once Temporal has accepted its latest details, however long it does not answer', async () => {
    const { seen, run } = actingStep([null, null, 'accepted']);
    await run();
    expect(seen).toMatchObject({ acted: 1, details: [{ offset: 7 }, { offset: 7 }, { offset: 7 }] });
  });

  it('does nothing and stops by its signal when Temporal has given it up', async () => {
    const { seen, run } = actingStep(['over']);
    expect(await failureOf(run())).toMatchObject({ type: 'WorkerShutdown', nonRetryable: false });
    expect(seen).toMatchObject({ acted: 0, signal: { aborted: true } });
  });

  it('does nothing and ends as cancelled when it was cancelled', async () => {
    const { seen, run } = actingStep(['cancelled']);
    await expect(run()).rejects.toBeInstanceOf(CancelledFailure);
    expect(seen.acted).toBe(0);
  });

  it('does nothing when a time-out ends it before Temporal answers', async () => {
    const { seen, run } = actingStep([null, null]);
    await expect(run()).rejects.toThrow();
    expect(seen).toMatchObject({ acted: 0, details: [{ offset: 7 }, { offset: 7 }] });
  });

  it('does nothing and fails with its name when Temporal refuses its heartbeats for good', async () => {
    const recordHeartbeat = () => Promise.reject(new Error('7 PERMISSION_DENIED: token of acme'));
    let acted = 0;
    const step = async () => {
      await stillMine({ recordHeartbeat });
      acted += 1;
    };
    const failure = await failureOf(mockActivity().run(() => withHeartbeats(() => ({ offset: 7 }), step)));
    expect(failure).toMatchObject({ type: 'HeartbeatRefused', nonRetryable: false });
    expect(failure?.message).not.toContain('acme');
    expect(acted).toBe(0);
  });

  it('asks nothing within a workflow task', async () => {
    const { seen, run } = actingStep([], true);
    await run();
    expect(seen).toMatchObject({ acted: 1, details: [] });
  });

  it('asks once for changes that follow one another at once', async () => {
    const { seen, recordHeartbeat } = actingStep(['accepted', 'accepted']);
    await mockActivity().run(async () => {
      await stillMine({ recordHeartbeat });
      await stillMine({ recordHeartbeat });
    });
    expect(seen.details).toHaveLength(1);
  });

  it('asks again before a version appears, since its archive is copied for a while', async () => {
    const scene = await activityScene();
    try {
      const answers: HeartbeatAnswer[] = ['accepted', 'over'];
      const { bundles } = whileMine({ ...scene.deps, recordHeartbeat: async () => answers.shift() ?? 'over' });
      let published = false;
      vi.spyOn(scene.deps.bundles, 'publish').mockImplementation(async (...[, , , work]) => {
        await sleep(100);
        await work?.confirm?.();
        published = true;
        throw new Error('published');
      });
      const failure = await failureOf(mockActivity().run(() => bundles.publish('run-1', 'v1', 'seal')));
      expect([failure?.type, published]).toEqual(['WorkerShutdown', false]);
    } finally {
      await scene.end();
    }
  });

  it('asks before every method of a store, but for those that only read', async () => {
    const scene = await activityScene();
    try {
      const { bundles, feedback } = whileMine({ ...scene.deps, recordHeartbeat: async () => 'over' });
      const methods = [
        ...Object.getOwnPropertyNames(Object.getPrototypeOf(scene.deps.bundles)).map((name) => ({ of: bundles, name })),
        ...Object.keys(scene.deps.bundles.holds).map((name) => ({ of: bundles.holds, name })),
        ...Object.keys(scene.deps.feedback).map((name) => ({ of: feedback, name })),
      ];
      const asking: string[] = [];
      for (const { of, name } of methods) {
        const method: unknown = Reflect.get(of, name);
        if (typeof method !== 'function' || name === 'constructor' || name === 'close') continue;
        const failure: unknown = await mockActivity()
          .run(async () => method())
          .catch((error) => error);
        if (failure instanceof ApplicationFailure && failure.type === 'WorkerShutdown') asking.push(name);
      }
      expect(asking).toEqual(
        expect.arrayContaining(['publish', 'removeAbandoned', 'place', 'upsertPage', 'moveWebhookPosition', 'expire']),
      );
      for (const reader of ['current', 'manifest', 'of', ...feedback.readers]) expect(asking).not.toContain(reader);
    } finally {
      await scene.end();
    }
  });
});
