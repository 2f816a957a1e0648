import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../sandbox/index.ts';
import { createKeyActivities } from '../../src/activities/leases.ts';
import type { KeyCheck, WindowSettings } from '../../src/budget/rules/permits.ts';
import { createDocumentationService } from '../../src/service/client.ts';
import { type ActivityScene, activityScene, mockActivity } from '../tools/activity-dependencies.ts';

let scene: ActivityScene;
afterEach(async () => {
  await scene?.end();
});

async function check(options: SandboxOptions = {}, settings?: WindowSettings): Promise<KeyCheck> {
  scene = await activityScene(options, settings);
  return again();
}

let attempts = 0;
function again(): Promise<KeyCheck> {
  attempts += 1;
  const env = mockActivity({ attempt: attempts, currentAttemptScheduledTimestampMs: attempts });
  return env.run(createKeyActivities(scene.deps).checkKey, { org: 'acme' }) as Promise<KeyCheck>;
}

const requests = () => scene.sandbox.log().filter(({ path }) => path.startsWith('/v1/')).length;

describe('checkKey', () => {
  it('costs one request, which the budget counts', async () => {
    expect(await check()).toEqual({ outcome: 'accepted', project: 'prj_1', clockAheadMs: expect.any(Number) });
    expect(requests()).toBe(1);
    expect(scene.asks).toMatchObject([{ class: 'on-demand', wants: 1 }]);
    expect(scene.window()).toMatchObject({ used: 1, holders: [] });
  });

  it('says what the service said to a wrong key, after one request that counts too', async () => {
    scene = await activityScene();
    const [organization] = scene.deps.organizations;
    if (!organization) throw new Error('the scene has no organization');
    const service = createDocumentationService({
      baseUrl: scene.sandbox.url,
      apiKey: () => 'dk_admin_of_somebody_else',
      allowInsecure: true,
    });
    scene.deps = { ...scene.deps, organizations: [{ ...organization, service }] };
    const refused = await again();
    expect(refused).toMatchObject({ outcome: 'refused', type: 'Unauthorized' });
    expect(JSON.stringify(refused)).not.toContain('somebody_else');
    expect(requests()).toBe(1);
    expect(scene.window().used).toBe(1);
  });

  it('sends nothing while the budget is used up', async () => {
    const oneAnHour = { requests: 1, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
    await check({}, oneAnHour);
    expect(await again()).toMatchObject({ outcome: 'no-permit', until: expect.any(Number) });
    expect(requests()).toBe(1);
  });

  it('tells the budget of a 429', async () => {
    expect(await check({ faults: { force429: 1 } })).toMatchObject({ outcome: 'refused', type: 'RateLimited' });
    expect(scene.window().throttledInWindow).toBe(1);
  });

  it('sees how far the clocks are apart', async () => {
    const result = await check({ clockSkewMs: -120_000 });
    expect('clockAheadMs' in result && result.clockAheadMs).toBeGreaterThan(110_000);
  });

  it('sends nothing for an organization without a project', async () => {
    scene = await activityScene();
    const organizations = scene.deps.organizations.map((organization) => ({ ...organization, projects: [] }));
    scene.deps = { ...scene.deps, organizations };
    expect(await again()).toEqual({ outcome: 'no-project' });
    expect(requests()).toBe(0);
  });
});
