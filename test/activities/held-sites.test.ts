import { expect, it, vi } from 'vitest';
import { heldSites } from '../../src/activities/watch-steps.ts';
import { domain, first, second, siteOfTwoVersions } from '../tools/bundle/two-versions.ts';

async function setOut() {
  const { bundles, acme, site } = await siteOfTwoVersions();
  const others = Array.from({ length: 100 }, (_, n) => ({ ...site, domain: `docs${n}.globex.example` }));
  const globex = { ...acme, id: 'globex', sites: others };
  return { bundles, acme, globex, deps: { bundles, organizations: [acme, globex] } };
}

it('reads the holds of sites that are held, and lists the sites once for the looks of many organizations', async () => {
  const { bundles, acme, globex, deps } = await setOut();
  const at = new Date('2026-12-24T00:00:00Z');
  await bundles.holds.place(domain, { version: null, reason: null, at });
  await bundles.holds.noteWaiting(domain, second);
  const [listed, read] = [vi.spyOn(bundles, 'inService'), vi.spyOn(bundles.holds, 'of')];

  const held = { domain, version: first, since: at.toISOString(), waiting: second };
  expect(await Promise.all([heldSites(deps, acme), heldSites(deps, globex)])).toEqual([[held], []]);
  expect([listed.mock.calls.length, read.mock.calls]).toEqual([1, [[domain]]]);
  // A watch that looks more often than listings are shared has one of its own.
  await bundles.holds.release(domain);
  read.mockClear();
  expect(await heldSites(deps, { ...acme, watch: { ...acme.watch, everyMs: 0 } })).toEqual([]);
  expect([listed.mock.calls.length, read.mock.calls]).toEqual([2, []]);
});

it('lists again after a listing that failed', async () => {
  const { bundles, acme, deps } = await setOut();
  vi.spyOn(bundles, 'inService').mockRejectedValueOnce(new Error('away'));
  await expect(heldSites(deps, acme)).rejects.toThrow('away');
  expect(await heldSites(deps, acme)).toEqual([]);
});
