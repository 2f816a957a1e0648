import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import { openSqliteFeedbackStore } from '../../../src/feedback/store/sqlite-store.ts';
import { publish } from '../../tools/bundle/staged.ts';
import { docferry, docferryJson, folderWithConfig } from '../../tools/cli/run-docferry.ts';
import { entry, releaseLocks, wholePass } from '../../tools/feedback/temporary-store.ts';

const domain = 'docs.acme.example';

/** A folder with a feedback store and a published version, without a Temporal, and a backup of it. */
async function backedUp() {
  const cwd = await folderWithConfig();
  const feedback = join(cwd, 'data', 'feedback.db');
  const store = await openSqliteFeedbackStore(feedback);
  await wholePass(store, 'p', [entry('1')]);
  const root = join(cwd, 'data', 'bundles');
  const bundles = await DirectoryBundleStore.open({ root, publicUrl: 'http://x' });
  await publish(bundles, 'v1', 'one');
  await bundles.moveCurrent(domain, 'v1', 0, new Date());
  const backup = await docferryJson(['backup', '--out', 'kept'], { cwd });
  await store.close();
  await releaseLocks();
  return { cwd, feedback, root, backup, identities: { feedback: store.identity, bundles: bundles.identity } };
}

const manifestOf = async (cwd: string) => JSON.parse(await readFile(join(cwd, 'kept', 'backup.json'), 'utf8'));

it('names what a backup does not hold, and refuses a place that is in use', async () => {
  const { cwd, backup, identities } = await backedUp();
  expect(backup).toMatchObject({
    exitCode: 0,
    document: {
      temporal: { missing: expect.stringContaining('temporal.db') },
      feedback: { identity: identities.feedback },
      bundles: { identity: identities.bundles },
    },
    stderr: expect.stringContaining('Temporal not included'),
  });
  expect(backup.stderr).toContain('back up where `docferry up` runs, or name its database with --db');
  expect((await docferry(['backup', '--out', 'kept'], { cwd })).exitCode).toBe(2);
  expect(await docferryJson(['restore', 'kept'], { cwd })).toMatchObject({
    exitCode: 1,
    document: { error: { code: 'PlaceTaken', hint: expect.stringContaining('--force') } },
  });
});

it('does not move a file away that stands where the bundles go', async () => {
  const { cwd } = await backedUp();
  const fresh = await folderWithConfig();
  await mkdir(join(fresh, 'data'));
  await writeFile(join(fresh, 'data', 'bundles'), 'something else');
  expect(await docferryJson(['restore', join(cwd, 'kept')], { cwd: fresh })).toMatchObject({
    exitCode: 1,
    document: { error: { code: 'PlaceTaken' } },
  });
  expect(await readFile(join(fresh, 'data', 'bundles'), 'utf8')).toBe('something else');
});

it('sets aside what is there with --force, and restores both stores as successors of the originals', async () => {
  const { cwd, feedback, root, identities } = await backedUp();
  const { exitCode, document } = await docferryJson(['restore', 'kept', '--force'], { cwd });
  expect({ exitCode, document }).toMatchObject({
    exitCode: 0,
    document: { budgets: [], aside: [expect.stringMatching(/bundles\.before-/), expect.stringMatching(/db\.before-/)] },
  });
  for (const file of document.aside as string[]) await access(file);
  const store = await openSqliteFeedbackStore(feedback);
  expect(store).toMatchObject({ predecessors: [identities.feedback], restoredAt: expect.any(Date) });
  expect(await store.countEntries('acme', 'prj_1')).toMatchObject({ entries: 1 });
  await store.close();
  const bundles = await DirectoryBundleStore.open({ root, publicUrl: 'http://x' });
  expect(bundles).toMatchObject({ predecessors: [identities.bundles] });
  expect(await bundles.current(domain)).toMatchObject({ version: 'v1', epoch: 1 });
});

it('refuses what is no backup, a damaged one and one of a newer version, and writes nothing', async () => {
  const { cwd } = await backedUp();
  const fresh = await folderWithConfig();
  const restored = (folder: string) => docferryJson(['restore', join(cwd, folder)], { cwd: fresh });
  const refused = (exitCode: number, code: string) => ({
    exitCode,
    document: { error: { code, hint: expect.stringMatching(/./) } },
  });
  expect(await restored('nowhere')).toMatchObject(refused(4, 'NoBackup'));
  const manifest = await manifestOf(cwd);
  const archive = join(cwd, 'kept', manifest.bundles.files.at(-1).path);
  const bytes = await readFile(archive);
  await writeFile(archive, bytes.subarray(1));
  expect(await restored('kept')).toMatchObject(refused(1, 'BackupDamaged'));
  await writeFile(archive, Buffer.from(bytes).fill(0));
  expect(await restored('kept')).toMatchObject(refused(1, 'BackupDamaged'));
  const changed = { ...manifest, format: 2, docferry: '9.0.0' };
  await writeFile(join(cwd, 'kept', 'backup.json'), JSON.stringify(changed));
  const newer = await restored('kept');
  expect(newer).toMatchObject(refused(1, 'BackupNewer'));
  expect(newer.stdout).toContain('9.0.0');
  await writeFile(join(cwd, 'kept', 'backup.json'), '{');
  expect(await restored('kept')).toMatchObject(refused(1, 'BackupDamaged'));
  const left = await readdir(fresh, { recursive: true });
  expect(left.filter((name) => !/lock|^data$|^docferry\.yaml$/.test(name))).toEqual([]);
});
