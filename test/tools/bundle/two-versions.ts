import { expect, onTestFinished } from 'vitest';
import { activityScene } from '../activity-dependencies.ts';
import { publish } from './staged.ts';

export const [first, second] = ['20261201T000000Z-000000000001', '20261202T000000Z-000000000002'];
export const domain = 'docs.acme.example';

/** A site with two versions in a store of the test's own, the first of them in service. */
export async function siteOfTwoVersions() {
  const scene = await activityScene();
  onTestFinished(() => scene.end());
  const { bundles, organizations } = scene.deps;
  await publish(bundles, first, 'content');
  await publish(bundles, second, 'other content');
  await bundles.moveCurrent(domain, first, 0, new Date());
  const [acme] = organizations;
  const [site] = acme?.sites ?? [];
  if (acme === undefined || site === undefined) return expect.fail();
  return { bundles, acme, site };
}
