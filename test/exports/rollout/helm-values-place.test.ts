import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HelmValuesPlace } from '../../../src/exports/rollout/helm-values-place.ts';
import type { RolloutRequest } from '../../../src/exports/rollout/rollout-target.ts';
import { PointerMoved } from '../../../src/exports/store/bundle-store.ts';
import { unguarded, versionOf } from '../../tools/bundle/place.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const domain = 'docs.acme.example';
const publicUrl = 'https://bundles.acme.example';
const v1 = '20261121T040200Z-3f9a2c1b8e7d';
const v2 = '20261122T040200Z-aaaaaaaaaaaa';
const addressOf = (version: string) => `${publicUrl}/${domain}/versions/${version}/bundle.tar.gz`;

function requestFor(version: string, url = addressOf(version)): RolloutRequest {
  const archive = { sha256: '0'.repeat(64), bytes: 1, format: 'tar.gz' as const };
  const source = { org: 'acme', domain, jobId: 'job_1' };
  const manifest = { version, contentDigest: '0'.repeat(64), archive, pages: 1, files: [], source };
  return { domain, manifest, withArchive: (use) => use('/nowhere'), url, ...unguarded };
}

const before = '# our site\r\nreplicas: 2\r\nstaticExport:\r\n  enabled: false # not yet\r\n  bundleUrl: ""\r\n';

async function makeTarget(content: string | Buffer | null = before) {
  const folder = await tempFolder();
  const file = join(folder, 'values.yaml');
  if (content !== null) await writeFile(file, content);
  const target = new HelmValuesPlace({ file, publicUrl: `${publicUrl}/` });
  return { folder, file, target, text: () => readFile(file, 'utf8') };
}

describe('HelmValuesPlace', () => {
  it('sets the three fields and keeps every other byte', async () => {
    const { folder, target, text } = await makeTarget();
    expect(await versionOf(target)).toBeNull();
    const detail = await target.take(requestFor(v1));
    expect(detail).toMatch(
      /changed staticExport.enabled, staticExport.bundleUrl, staticExport.version\), before: none$/,
    );
    expect(detail).toContain(v1);
    expect(await text()).toBe(
      `# our site\r\nreplicas: 2\r\nstaticExport:\r\n  enabled: true # not yet\r\n  bundleUrl: "${addressOf(v1)}"\r\n  version: "${v1}"\r\n`,
    );
    expect(await versionOf(target)).toBe(v1);
    expect(await target.take(requestFor(v2))).toMatch(
      new RegExp(`changed staticExport.bundleUrl, staticExport.version\\), before: ${v1}$`),
    );
    expect(await versionOf(target)).toBe(v2);
    expect(await readdir(folder)).toEqual(['values.yaml']);
  });

  it('leaves a file alone that is right already', async () => {
    const { file, target } = await makeTarget();
    await target.take(requestFor(v1));
    await utimes(file, 1_000, 1_000);
    const { ino } = await stat(file);
    expect(await target.take(requestFor(v1))).toContain('already');
    expect(await stat(file)).toMatchObject({ mtimeMs: 1_000_000, ino });
  });

  it('keeps the mode of the file, and a symbolic link', async () => {
    const { folder, file, target } = await makeTarget();
    await mkdir(join(folder, 'real'));
    const real = join(folder, 'real', 'production.yaml');
    await writeFile(real, before);
    await chmod(real, 0o640);
    const link = join(folder, 'link.yaml');
    await symlink('real/production.yaml', link);
    const linked = new HelmValuesPlace({ file: link, publicUrl });
    await linked.take(requestFor(v1));
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect((await stat(real)).mode & 0o7777).toBe(0o640);
    expect(await versionOf(linked)).toBe(v1);
    expect(await readFile(real, 'utf8')).toContain(addressOf(v1));
    expect(await readdir(join(folder, 'real'))).toEqual(['production.yaml']);
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await versionOf(target)).toBeNull();
  });

  it('notices changes by others', async () => {
    const { file, target, text } = await makeTarget();
    await target.take(requestFor(v1));
    const good = await text();
    const drifted = [
      good.replace('enabled: true', 'enabled: false'),
      good.replace(`version: "${v1}"`, 'version: 20261121'),
      good.replace(`version: "${v1}"`, `version: "${v2}"`),
      good.replace(publicUrl, 'http://localhost:8090'),
      `${good}---\n`.replace('replicas: 2', 'replicas: ]'),
    ];
    for (const content of drifted) {
      expect(content).not.toBe(good);
      await writeFile(file, content);
      expect(await versionOf(target)).toBeNull();
    }
  });

  it('never writes a link that expires', async () => {
    const { target, text } = await makeTarget();
    const secret = 'c0ffee';
    for (const url of [
      `https://storage.example/bundle.tar.gz?X-Amz-Signature=${secret}`,
      `https://u:${secret}@storage.example/b`,
    ]) {
      const refused = target.take(requestFor(v1, url));
      await expect(refused).rejects.toMatchObject({
        name: 'TargetRefused',
        message: expect.not.stringContaining(secret),
      });
    }
    expect(await text()).toBe(before);
  });

  it("names the version before only when it is one of docferry's", async () => {
    const { target } = await makeTarget('staticExport: { enabled: true, bundleUrl: x, version: "hunter2" }\n');
    const detail = await target.take(requestFor(v1));
    expect(detail).toContain('before: another');
    expect(detail).not.toContain('hunter2');
  });

  it.each([
    ['a: 1\na: 2\n', 'line 2: a key is listed twice'],
    ['staticExport: [1]\n', 'staticExport is not a mapping: write it as a mapping of its own'],
    [Buffer.from('a: \xff\n', 'latin1'), 'is not UTF-8 text'],
    [null, 'does not exist (ENOENT): create it, or correct its path in the configuration'],
  ])('refuses, with the file and the reason, and leaves it alone: %j', async (content, message) => {
    const { folder, file, target } = await makeTarget(content);
    await expect(target.take(requestFor(v1))).rejects.toMatchObject({
      name: 'TargetRefused',
      message: `${file} ${message}`,
    });
    expect(await versionOf(target)).toBeNull();
    if (content === null) expect(await readdir(folder)).toEqual([]);
    else expect((await readFile(file)).equals(Buffer.from(content))).toBe(true);
  });

  it('refuses a folder in place of the file', async () => {
    const folder = await tempFolder();
    const target = new HelmValuesPlace({ file: folder, publicUrl });
    await expect(target.take(requestFor(v1))).rejects.toMatchObject({
      name: 'TargetRefused',
      message: `${folder} is a folder (EISDIR): name a file in it`,
    });
  });

  it('writes nothing after a cancellation', async () => {
    const { target, text } = await makeTarget();
    const reason = new Error('cancelled');
    await expect(target.take({ ...requestFor(v1), signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await text()).toBe(before);
  });

  it('never lets a reader see half a file', async () => {
    const { file, target } = await makeTarget(`${before}notes: |\n${'  text of the notes\r\n'.repeat(20_000)}`);
    await target.take(requestFor(v1));
    const sizes = new Set<number>();
    let writing = true;
    const reader = async () => {
      while (writing) sizes.add((await readFile(file)).length);
    };
    const reading = reader();
    for (let n = 0; n < 6; n += 1) await target.take(requestFor(n % 2 ? v1 : v2));
    writing = false;
    await reading;
    expect(sizes).toEqual(new Set([(await stat(file)).size]));
  });

  it('keeps what a person edits between the reading and the writing', async () => {
    const { file, target, text } = await makeTarget();
    const edits = ['replicas: 3', 'replicas: 4'];
    const guard = async () => {
      const edit = edits.shift();
      if (edit !== undefined) await writeFile(file, before.replace('replicas: 2', edit));
    };
    await target.take({ ...requestFor(v1), guard });
    expect(await text()).toContain('replicas: 4\r\n');
    expect(await versionOf(target)).toBe(v1);
  });

  it('keeps the versions of thirty sites that share the file and are rolled out at once', async () => {
    const keys = Array.from({ length: 30 }, (_, n) => `site${n}`);
    const { folder, file } = await makeTarget(keys.map((key) => `${key}: {}\n`).join(''));
    const places = keys.map((key) => new HelmValuesPlace({ file, key, publicUrl }));
    await Promise.all(places.map((place) => place.take(requestFor(v1))));
    expect(await Promise.all(places.map(versionOf))).toEqual(keys.map(() => v1));
    expect(await readdir(folder)).toEqual(['values.yaml']);
  });

  it('leaves the file alone when another version has become current meanwhile', async () => {
    const { target, text } = await makeTarget();
    const request = { ...requestFor(v1), guard: () => Promise.reject(new PointerMoved(v1)) };
    await expect(target.take(request)).rejects.toMatchObject({ name: 'PointerMoved' });
    expect(await text()).toBe(before);
    await target.take(requestFor(v1));
    expect(await versionOf(target)).toBe(v1);
  });
});
