import { readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DirectoryPlace } from '../../../src/exports/rollout/directory-place.ts';
import { HelmValuesPlace } from '../../../src/exports/rollout/helm-values-place.ts';
import { takeStep } from '../../../src/exports/rollout/roll-out-version.ts';
import { observe, type RolloutTarget } from '../../../src/exports/rollout/rollout-target.ts';
import { unguarded } from '../../tools/bundle/place.ts';
import { publishSite, smallSiteVersion } from '../../tools/bundle/published-version.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const domain = 'docs.acme.example';
const publicUrl = 'http://localhost:8090';
const digest = smallSiteVersion.split('-')[1];
const older = `20261120T101500Z-${digest}`;
const newer = `20261121T101500Z-${digest}`;

interface Place {
  target: RolloutTarget;
  /** What somebody does by hand, and what it then runs: a version, `none` or `unknown`. */
  drifts: { what: string; change(): Promise<void>; runs: string }[];
  /** Whether the version is really in service there. */
  serves(version: string): Promise<void>;
}

async function directory(): Promise<Place> {
  const path = join(await tempFolder(), 'site');
  const current = join(path, 'current');
  const link = async (to: string) => {
    await rm(current);
    await symlink(to, current);
  };
  return {
    target: { name: 'directory:./site', place: new DirectoryPlace({ path }) },
    drifts: [
      { what: 'points at an older release', change: () => link(`releases/${older}`), runs: older },
      { what: 'points at a folder of somebody else', change: () => link('/srv/maintenance'), runs: 'unknown' },
      { what: 'has lost its link', change: () => rm(current), runs: 'none' },
    ],
    async serves(version) {
      expect(await readlink(current)).toBe(`releases/${version}`);
      expect(await readFile(join(current, 'index.html'), 'utf8')).not.toBe('');
    },
  };
}

async function helmValues(): Promise<Place> {
  const file = join(await tempFolder(), 'values.yaml');
  await writeFile(file, 'replicas: 2\n');
  const edit = (from: string | RegExp, to: string) => async () => {
    const text = await readFile(file, 'utf8');
    expect(text.replace(from, to)).not.toBe(text);
    await writeFile(file, text.replace(from, to));
  };
  return {
    target: { name: 'helmValues:values.yaml', place: new HelmValuesPlace({ file, publicUrl }) },
    drifts: [
      { what: 'names an older version', change: edit(new RegExp(newer, 'g'), older), runs: older },
      { what: 'is switched off', change: edit('enabled: true', 'enabled: false'), runs: 'none' },
      { what: 'takes the bundle from elsewhere', change: edit(publicUrl, 'http://elsewhere.example'), runs: 'unknown' },
    ],
    async serves(version) {
      expect(await readFile(file, 'utf8')).toContain(`/versions/${version}/`);
    },
  };
}

describe.each([
  ['a directory', directory],
  ['a Helm values file', helmValues],
])('%s that somebody changed (E9)', (_kind, place) => {
  it('counts as current only while it runs the version, and says what it ran before', async () => {
    const root = join(await tempFolder(), 'bundles');
    const { store: bundles } = await publishSite({ root, domain, version: older });
    await publishSite({ root, domain, version: newer });
    const { target, drifts, serves } = await place();
    const rollOut = (version: string) => takeStep({ bundles, domain, version, target, step: 'place', ...unguarded });
    const runs = async () => {
      const found = await observe(target);
      return found.runs === 'version' ? found.version : found.runs;
    };
    await rollOut(older);
    expect(await rollOut(newer)).toMatchObject({ outcome: 'rolled-out' });
    expect(await rollOut(newer)).toMatchObject({ outcome: 'already-current', detail: `runs ${newer}` });
    for (const { what, change, runs: expected } of drifts) {
      await change();
      // The store still remembers the success: only what is read back counts.
      expect(await bundles.rolledOut(domain, target.name), what).toBe(newer);
      expect(await runs(), what).toBe(expected);
      const repaired = await rollOut(newer);
      expect(repaired.outcome, what).toBe('rolled-out');
      if (expected === older) expect(repaired.detail, what).toContain(`before: ${older}`);
      await serves(newer);
      expect(await runs(), what).toBe(newer);
    }
  });
});
