import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { driftedTargets, heldSites, observeTargets } from '../../src/activities/watch-steps.ts';
import type { Observed } from '../../src/exports/rules/rollout-steps.ts';
import { domain, first, second, siteOfTwoVersions } from '../tools/bundle/two-versions.ts';

async function sitesOfTwo() {
  const { bundles, acme, site } = await siteOfTwoVersions();
  const others = Array.from({ length: 100 }, (_, n) => ({ ...site, domain: `docs${n}.globex.example` }));
  const globex = { ...acme, id: 'globex', sites: others };
  return { bundles, acme, globex, deps: { bundles, organizations: [acme, globex] } };
}

it('reads the holds of sites that are held, and lists the sites once for the looks of many organizations', async () => {
  const { bundles, acme, globex, deps } = await sitesOfTwo();
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
  expect(await heldSites(deps, { ...acme, watchEveryMs: 0 })).toEqual([]);
  expect([listed.mock.calls.length, read.mock.calls]).toEqual([2, []]);
});

it('lists again in time though the clock of the machine was set back', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { bundles, acme, deps } = await sitesOfTwo();
  const listed = vi.spyOn(bundles, 'inService');
  await heldSites(deps, acme);
  vi.advanceTimersByTime(31_000);
  vi.setSystemTime(Date.now() - 3_600_000);
  await heldSites(deps, acme);
  expect(listed).toHaveBeenCalledTimes(2);
});

it('lists again after a listing that failed', async () => {
  const { bundles, acme, deps } = await sitesOfTwo();
  vi.spyOn(bundles, 'inService').mockRejectedValueOnce(new Error('away'));
  await expect(heldSites(deps, acme)).rejects.toThrow('away');
  expect(await heldSites(deps, acme)).toEqual([]);
});

it('a damaged record of one organization leaves the holds of another', async () => {
  const { bundles, acme, globex, deps } = await sitesOfTwo();
  await bundles.holds.place(domain, { version: null, reason: null, at: new Date() });
  const globexDomain = globex.sites[0]?.domain ?? '';
  await mkdir(join(bundles.place, globexDomain));
  await writeFile(join(bundles.place, globexDomain, 'hold.json'), '{"vers');
  expect(await heldSites(deps, acme)).toMatchObject([{ domain, version: first }]);
  await expect(heldSites(deps, globex)).rejects.toThrow(`${globexDomain}/hold.json`);
});

const noon = new Date('2026-12-24T12:00:00Z');

/** A site whose only target runs what `running` says. */
async function siteWithTarget() {
  const { bundles, acme, site } = await siteOfTwoVersions();
  await bundles.recordRollout(domain, 'shelf', first);
  const running: { version: string | null } = { version: first };
  const observe = async (): Promise<Observed> =>
    running.version === null
      ? { runs: 'unknown', why: 'it is elsewhere' }
      : { runs: 'version', version: running.version, since: null };
  const place = { observe, examine: () => expect.fail(), take: () => expect.fail() };
  const shelf = { name: 'shelf', place };
  const watched = { ...acme, sites: [{ ...site, targets: [shelf] }] };
  return {
    bundles,
    running,
    watched,
    deps: { bundles, organizations: [watched, { ...acme, id: 'globex', sites: [] }] },
  };
}

it('names a target that was rolled out to and runs another version, and no other', async () => {
  const { running, watched, deps } = await siteWithTarget();
  expect(await driftedTargets(deps, watched, noon)).toEqual({ drifted: [], unread: [] });
  running.version = second;
  expect(await driftedTargets(deps, watched, noon)).toEqual({
    drifted: [{ domain, target: 'shelf', version: first, running: second }],
    unread: [],
  });
  running.version = null;
  expect(await driftedTargets(deps, watched, noon)).toEqual({ drifted: [], unread: [domain] });
});

it('records what every target runs and since when, with or without webhooks, and writes only what is new (E9)', async () => {
  const { bundles, running, watched } = await siteWithTarget();
  const written = vi.spyOn(bundles, 'recordObserved');
  const look = (hour: number) => observeTargets({ bundles }, watched, new Date(noon.getTime() + hour * 3_600_000));
  const at = (hour: number) => new Date(noon.getTime() + hour * 3_600_000).toISOString();
  await look(0);
  await look(1);
  const seen = async () => (await bundles.observed(domain)).shelf;
  expect(await seen()).toEqual({ runs: 'version', version: first, why: null, since: at(0) });
  expect(written).toHaveBeenCalledTimes(1);
  running.version = null;
  await look(2);
  await look(3);
  expect(await seen()).toEqual({ runs: 'unknown', version: null, why: 'it is elsewhere', since: at(2) });
  running.version = second;
  await look(4);
  expect(await seen()).toEqual({ runs: 'version', version: second, why: null, since: at(4) });
  expect(written).toHaveBeenCalledTimes(3);
});

it('takes a target that has lost what it ran for drift', async () => {
  const { watched, deps } = await siteWithTarget();
  const [target] = watched.sites[0]?.targets ?? [];
  const gone: Observed = { runs: 'none', why: 'there is no current', since: null };
  if (target?.place) target.place.observe = async () => gone;
  expect(await driftedTargets(deps, watched, noon)).toMatchObject({
    drifted: [{ target: 'shelf', running: 'nothing' }],
  });
});

it('is not misled by a listing from before a rollout that is not recorded yet, and shares it with other looks', async () => {
  const { bundles, running, watched, deps } = await siteWithTarget();
  const [listed, read] = [vi.spyOn(bundles, 'inService'), vi.spyOn(bundles, 'current')];
  expect(await driftedTargets(deps, watched, noon)).toMatchObject({ drifted: [] });
  expect([listed.mock.calls.length, read.mock.calls]).toEqual([1, []]);
  await bundles.moveCurrent(domain, second, 1, new Date());
  running.version = second;
  expect(await driftedTargets(deps, watched, noon)).toMatchObject({ drifted: [] });
  expect([listed.mock.calls.length, read.mock.calls]).toEqual([1, [[domain]]]);
});

it('waits neither for a place that does not answer nor for many sites, and asks no place twice meanwhile', async () => {
  const { bundles, watched } = await siteWithTarget();
  const [site] = watched.sites;
  const [shelf] = site?.targets ?? [];
  if (!site || !shelf?.place) expect.fail();
  const hangs = vi.fn(() => new Promise<Observed>(() => {}));
  const silent = { name: 'silent', place: { ...shelf.place, observe: hangs } };
  const sites = [{ ...site, domain: 'silent.example', targets: [silent] }, site];
  const look = (patience: { place: number; look: number }) =>
    observeTargets({ bundles }, { sites }, noon, null, patience);
  const seen = await look({ place: 1_000, look: 60_000 });
  expect(seen.get('silent.example')?.silent).toMatchObject({ runs: 'unknown', why: 'it did not answer within 1 s' });
  expect(seen.get(domain)?.shelf).toMatchObject({ runs: 'version' });
  await look({ place: 1_000, look: 60_000 });
  expect(hangs).toHaveBeenCalledTimes(1);
  expect([...(await look({ place: 50, look: -1 })).keys()]).toEqual([]);
});
