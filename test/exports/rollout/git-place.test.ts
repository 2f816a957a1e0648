import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, symlink, unlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GitPlace, SiteFolder } from '../../../src/exports/rollout/git-place.ts';
import { HelmValuesPlace } from '../../../src/exports/rollout/helm-values-place.ts';
import type { Place, RolloutRequest } from '../../../src/exports/rollout/rollout-target.ts';
import { smallSite, tarGz } from '../../tools/bundle/build-archive.ts';
import { unguarded } from '../../tools/bundle/place.ts';
import { publishSite } from '../../tools/bundle/published-version.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const publicUrl = 'https://bundles.acme.example';
const versionAt = (n: number) => `20261121T${String(n).padStart(6, '0')}Z-3f9a2c1b8e7d`;

/** Git with settings of this test only. */
const environment = {
  ...process.env,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A Person',
  GIT_AUTHOR_EMAIL: 'person@acme.example',
  GIT_COMMITTER_NAME: 'A Person',
  GIT_COMMITTER_EMAIL: 'person@acme.example',
};
const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', args, { cwd, env: environment, encoding: 'utf8', stdio: 'pipe' });

/** A person's commit of all that is in a clone. */
function pushAll(clone: string, message: string): void {
  git(clone, 'add', '--all');
  git(clone, 'commit', '--quiet', '-m', message);
  git(clone, 'push', '--quiet', 'origin', 'main');
}

/** Settings of git for docferry in this process. */
function withAuthor(
  settings: Record<string, string> = { 'user.name': 'docferry', 'user.email': 'docferry@acme.example' },
) {
  const entries = Object.entries(settings);
  const variables: Record<string, string> = {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_COUNT: `${entries.length}`,
  };
  for (const [index, [key, value]] of entries.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  onTestFinished(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
}

/** A bare remote with one commit on `main`, and a person's clone of it. */
async function remote(files: Record<string, string> = { 'docs.yaml': 'replicas: 2\n' }) {
  const folder = await tempFolder();
  const bare = join(folder, 'deployments.git');
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare]);
  const clone = join(folder, 'person');
  execFileSync('git', ['clone', '--quiet', bare, clone], { stdio: 'pipe' });
  git(clone, 'checkout', '--quiet', '-B', 'main');
  for (const [name, text] of Object.entries(files)) await writeFile(join(clone, name), text);
  pushAll(clone, 'first');
  return { folder, bare, clone, log: () => git(bare, 'log', '--format=%s', 'main').trim().split('\n') };
}

const valuesIn = (repository: string, file = 'docs.yaml', branch = 'main') =>
  new GitPlace({ repository, branch }, file, (path) => new HelmValuesPlace({ file: path, publicUrl }));

function requestFor(version: string, more: Partial<RolloutRequest> = {}): RolloutRequest {
  const archive = { sha256: '0'.repeat(64), bytes: 1, format: 'tar.gz' as const };
  const source = { org: 'acme', domain: 'docs.acme.example', jobId: 'job_1' };
  return {
    domain: 'docs.acme.example',
    manifest: { version, contentDigest: '0'.repeat(64), archive, pages: 12, files: [], source },
    withArchive: (use) => use('/nowhere'),
    url: `${publicUrl}/docs.acme.example/versions/${version}/bundle.tar.gz`,
    ...unguarded,
    ...more,
  };
}

/** A request for a site of these files, published in a store within `folder`. */
async function siteRequest(folder: string, n: number, items: typeof smallSite, domain = 'docs.acme.example') {
  const [root, version] = [join(folder, `${domain}-${n}`), versionAt(n)];
  const { store, manifest } = await publishSite({ root, domain, version, bundle: tarGz(items) });
  return requestFor(version, { domain, manifest, withArchive: (use) => store.withArchive(domain, version, use) });
}

const siteIn = (repository: string, path = 'site') =>
  new GitPlace({ repository, branch: 'main' }, path, (folder) => new SiteFolder(folder));

describe('a values file in a repository', () => {
  it('gets a commit with version and counts by the author of git, and is read back from the branch', async () => {
    withAuthor();
    const { bare, log } = await remote();
    const place = valuesIn(bare);
    expect(await place.observe()).toMatchObject({ runs: 'none', why: 'docs.yaml enables no staticExport' });
    const detail = await place.take(requestFor(versionAt(1)));
    expect(detail).toMatch(/in docs\.yaml \(changed .*\), before: none, commit [0-9a-f]{12}$/);
    expect(git(bare, 'log', '-1', '--format=%an <%ae>%n%B', 'main')).toContain(
      `docferry <docferry@acme.example>\ndocs.acme.example: ${versionAt(1)}\n\n12 pages, 0 files`,
    );
    expect(await place.observe()).toMatchObject({
      runs: 'version',
      version: versionAt(1),
      since: expect.stringMatching(/^2/),
    });
    expect(await place.take(requestFor(versionAt(1)))).toContain('already');
    expect(log()).toHaveLength(2);
  });

  it('keeps every commit of two workers and a person who push 50 times, and makes no empty one', async () => {
    withAuthor();
    const { bare, clone, log } = await remote({
      'docs.yaml': 'replicas: 2\n',
      'other.yaml': 'replicas: 1\n',
      'notes.txt': '',
    });
    const worker = async (file: string, each: number) => {
      for (let n = 1; n <= each; n += 1) {
        const place = valuesIn(bare, file);
        // Temporal tries a step again whose five pushes were refused.
        const take = async (): Promise<void> => {
          await place.take(requestFor(versionAt(n))).catch((error: Error) => {
            expect(error).toMatchObject({
              name: 'TargetRefused',
              mayPass: true,
              message: expect.stringContaining('changed before each of'),
            });
            return take();
          });
        };
        await take();
      }
    };
    const person = async () => {
      for (let n = 1; n <= 20; n += 1) {
        await writeFile(join(clone, 'notes.txt'), `${n}\n`);
        git(clone, 'commit', '--quiet', '-am', `note ${n}`);
        for (;;) {
          const child = spawn('git', ['push', '--quiet', 'origin', 'main'], {
            cwd: clone,
            env: environment,
            stdio: 'ignore',
          });
          const [code] = await once(child, 'exit');
          if (code === 0) break;
          git(clone, 'pull', '--quiet', '--rebase', 'origin', 'main');
        }
      }
    };
    await Promise.all([worker('docs.yaml', 15), worker('other.yaml', 15), person()]);
    const subjects = log();
    expect(subjects).toHaveLength(1 + 50);
    expect(subjects.filter((subject) => subject.startsWith('docs.acme.example: '))).toHaveLength(30);
    expect(subjects.filter((subject) => subject.startsWith('note '))).toHaveLength(20);
    for (const commit of git(bare, 'rev-list', 'main').trim().split('\n').slice(0, -1)) {
      expect(git(bare, 'diff-tree', '--no-commit-id', '--name-only', '-r', commit).trim()).not.toBe('');
    }
    expect(git(bare, 'show', 'main:docs.yaml')).toContain(versionAt(15));
    expect(git(bare, 'show', 'main:other.yaml')).toContain(versionAt(15));
  });

  it('pushes nothing once the version is no longer wanted', async () => {
    withAuthor();
    const { bare, log } = await remote();
    let asked = 0;
    const guard = async () => {
      asked += 1;
      if (asked === 2) throw new Error('overtaken');
    };
    await expect(valuesIn(bare).take(requestFor(versionAt(1), { guard }))).rejects.toThrow('overtaken');
    expect(log()).toEqual(['first']);
  });

  it.each<
    [
      what: string,
      mayPass: boolean,
      message: RegExp,
      broken: (scene: Awaited<ReturnType<typeof remote>>) => Promise<GitPlace>,
    ]
  >([
    [
      'a repository that is not there',
      false,
      /does not exist, or these credentials may not see it: correct git.repository/,
      async ({ folder }) => valuesIn(join(folder, 'nowhere.git')),
    ],
    [
      'a branch that is not there',
      false,
      /branch nowhere of .* does not exist: create it, or correct git.branch/,
      async ({ bare }) => valuesIn(bare, 'docs.yaml', 'nowhere'),
    ],
    ['a file that was deleted', false, /^docs2.yaml does not exist/, async ({ bare }) => valuesIn(bare, 'docs2.yaml')],
    [
      'a file that is a link',
      false,
      /docs.yaml of branch main of .* is, or lies behind, a symbolic link/,
      async ({ bare, clone }) => {
        await unlink(join(clone, 'docs.yaml'));
        await symlink('/etc/hostname', join(clone, 'docs.yaml'));
        pushAll(clone, 'link');
        return valuesIn(bare);
      },
    ],
    [
      'a folder that is a link',
      false,
      /x\/hostname of branch main of .* is, or lies behind, a symbolic link/,
      async ({ bare, clone }) => {
        await symlink('/etc', join(clone, 'x'));
        pushAll(clone, 'link');
        return valuesIn(bare, 'x/hostname');
      },
    ],
    [
      'a declined push',
      true,
      /declines the push: see its hooks and protected branches/,
      async ({ bare }) => {
        await writeFile(join(bare, 'hooks/pre-receive'), '#!/bin/sh\nexit 1\n');
        await chmod(join(bare, 'hooks/pre-receive'), 0o755);
        return valuesIn(bare);
      },
    ],
    ['a host that does not answer', true, /cannot be reached/, async () => valuesIn('http://127.0.0.1:1/r.git')],
  ])('is refused, with field and fix: %s', async (_what, mayPass, message, broken) => {
    withAuthor();
    const scene = await remote();
    const place = await broken(scene);
    const before = git(scene.bare, 'rev-parse', 'main');
    await expect(place.take(requestFor(versionAt(1)))).rejects.toMatchObject({
      name: 'TargetRefused',
      mayPass,
      message: expect.stringMatching(message),
    });
    expect(git(scene.bare, 'rev-parse', 'main')).toBe(before);
    expect((await place.observe()).runs).not.toBe('version');
  });

  it('needs an author', async () => {
    withAuthor({ 'user.useConfigOnly': 'true' });
    const { bare } = await remote();
    await expect(valuesIn(bare).take(requestFor(versionAt(1)))).rejects.toMatchObject({
      message: expect.stringContaining('set user.name and user.email'),
    });
  });

  it('does not prompt for an unknown host key', async () => {
    withAuthor();
    const folder = await tempFolder();
    // Stands for ssh: what it says of a host that known_hosts lacks.
    await writeFile(join(folder, 'ssh'), '#!/bin/sh\necho "Host key verification failed." >&2\nexit 255\n');
    await chmod(join(folder, 'ssh'), 0o755);
    process.env.GIT_SSH_COMMAND = join(folder, 'ssh');
    onTestFinished(() => {
      delete process.env.GIT_SSH_COMMAND;
    });
    await expect(valuesIn('ssh://git@git.acme.example/r.git').take(requestFor(versionAt(1)))).rejects.toMatchObject({
      message: expect.stringContaining('whose key is unknown or has changed: add it to known_hosts'),
    });
  });
});

it('puts the files of a site into a folder of a repository, beside others, which stay', async () => {
  withAuthor();
  const { folder, bare, clone } = await remote({ CNAME: 'docs.acme.example\n', '.gitignore': 'build\n' });
  const place = siteIn(bare);
  // The site gets all its files, whatever the repository ignores elsewhere.
  const built = { name: 'build/app.js', content: 'app' };
  await place.take(await siteRequest(folder, 1, [...smallSite, built, { name: 'old.html', content: 'old' }]));
  expect(git(bare, 'show', 'main:site/build/app.js')).toBe('app');
  git(clone, 'pull', '--quiet', 'origin', 'main');
  await writeFile(join(clone, 'site/mine.txt'), 'mine');
  pushAll(clone, 'mine');
  expect(await place.take(await siteRequest(folder, 2, smallSite))).toContain(`before: ${versionAt(1)}, commit`);
  git(clone, 'pull', '--quiet', 'origin', 'main');
  const names = await readdir(join(clone, 'site'));
  expect(names).toContain('mine.txt');
  expect(names).toContain('index.html');
  expect(names).not.toContain('old.html');
  expect(await readFile(join(clone, 'CNAME'), 'utf8')).toBe('docs.acme.example\n');
  expect(await place.observe()).toMatchObject({ runs: 'version', version: versionAt(2) });
  await expect(
    place.take(await siteRequest(folder, 3, [...smallSite, { name: 'mine.txt', content: 'theirs' }])),
  ).rejects.toMatchObject({
    name: 'TargetRefused',
    message: expect.stringMatching(/site\/mine.txt is in the way \(EEXIST\): move it away/),
  });
});

it.each<[what: string, settings: Record<string, string>, attributes: string]>([
  ['attributes that make every text file LF', {}, '* text=auto\n'],
  ['attributes that check out CRLF', {}, '* text=auto eol=crlf\n'],
  ['attributes that fill in and convert', {}, '*.html ident\n*.css working-tree-encoding=UTF-16\n'],
  ['settings of the user that make every file LF', { 'core.autocrlf': 'input' }, ''],
])('commits the bytes that were verified, whatever git would make of them: %s', async (_what, settings, attributes) => {
  withAuthor({ 'user.name': 'docferry', 'user.email': 'docferry@acme.example', ...settings });
  const values = 'replicas: 2\r\n';
  const { folder, bare, clone } = await remote({ 'docs.yaml': values, 'other.txt': 'one\r\n' });
  await writeFile(join(clone, '.gitattributes'), attributes);
  pushAll(clone, 'attributes');
  const files = [
    { name: 'crlf.html', content: '<p>$Id$</p>\r\n' },
    { name: 'lf.html', content: '<p>$Id$</p>\n' },
    { name: 'site.css', content: 'p {}\r\n' },
  ];
  await siteIn(bare).take(await siteRequest(folder, 1, [...smallSite, ...files]));
  await valuesIn(bare).take(requestFor(versionAt(1)));
  const stored = (path: string) => git(bare, 'cat-file', 'blob', `main:${path}`);
  for (const { name, content } of files) expect(stored(`site/${name}`), name).toBe(content);
  expect(stored('docs.yaml').replaceAll('\r\n', '')).not.toContain('\n');
  expect(stored('docs.yaml').startsWith(values)).toBe(true);
  expect(stored('other.txt')).toBe('one\r\n');
});

it.each([
  ['a folder of the site', 'site', 'css', 'elsewhere', []],
  ['the folder of a file to remove', 'site', 'css', 'elsewhere', ['css/theirs.css']],
  ['the record of what is there', 'site', '.docferry.json', 'elsewhere/theirs.css', []],
  ['a folder above one that is not there yet', 'site/css/a/docs', 'css', 'elsewhere', []],
])('follows no symbolic link out of the repository: %s', async (_what, path, name, to, listed) => {
  withAuthor();
  const { folder, bare, clone } = await remote();
  const elsewhere = join(folder, 'elsewhere');
  await mkdir(elsewhere);
  await writeFile(join(elsewhere, 'theirs.css'), '{}');
  await mkdir(join(clone, 'site'));
  await symlink(join(folder, to), join(clone, 'site', name));
  if (listed.length > 0) {
    await writeFile(join(clone, 'site/.docferry.json'), JSON.stringify({ version: versionAt(1), files: listed }));
  }
  pushAll(clone, 'link');
  const items = [...smallSite, ...(listed.length > 0 ? [] : [{ name: 'css/site.css', content: 'ours' }])];
  await expect(siteIn(bare, path).take(await siteRequest(folder, 2, items))).rejects.toMatchObject({
    name: 'TargetRefused',
    mayPass: false,
    message: expect.stringMatching(/is.* a symbolic link/),
  });
  expect(await readdir(elsewhere)).toEqual(['theirs.css']);
  expect(await readFile(join(elsewhere, 'theirs.css'), 'utf8')).toBe('{}');
});

it('takes no repository within a site for its own, and runs nothing that its settings name', async () => {
  withAuthor();
  const { folder, bare } = await remote();
  const ran = join(folder, 'ran');
  // A repository with a commit, as another program of git makes it.
  const inner = join(folder, 'inner');
  execFileSync('git', ['init', '--quiet', '--template=', inner]);
  git(inner, 'commit', '--quiet', '--allow-empty', '-m', 'inner');
  git(inner, 'config', 'core.fsmonitor', `touch ${ran}; false`);
  const entries = await readdir(inner, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ name: `docs/${relative(inner, path)}`, content: readFileSync(path) }));
  await expect(siteIn(bare).take(await siteRequest(folder, 1, [...smallSite, ...files]))).rejects.toMatchObject({
    name: 'TargetRefused',
    message: expect.stringMatching(/^git keeps no file called .git: leave docs\/.git\/\w+ out of the site/),
  });
  expect(existsSync(ran)).toBe(false);
});

it('commits more files than fit into one answer of git', async () => {
  withAuthor();
  const { bare } = await remote();
  // 2,600 paths of 3,500 characters are more than 8 MiB.
  const path = Array(14).fill('x'.repeat(250)).join('/');
  const many = (folder: string): Place => ({
    observe: async () => ({ runs: 'none', why: 'of the test', since: null }),
    examine: async () => '',
    take: async () => {
      await mkdir(folder, { recursive: true });
      for (let n = 0; n < 2600; n += 1) await writeFile(join(folder, `${n}`), '');
      return 'written';
    },
  });
  const place = new GitPlace({ repository: bare, branch: 'main' }, path, many);
  expect(await place.take(requestFor(versionAt(1)))).toMatch(/^written, commit [0-9a-f]{12}$/);
});

it('puts a file where a folder was, and a folder where a file was', async () => {
  withAuthor();
  const { folder, bare, clone } = await remote();
  const place = siteIn(bare);
  await place.take(
    await siteRequest(folder, 1, [
      ...smallSite,
      { name: 'api/v1/a.html', content: 'a' },
      { name: 'about', content: 'file' },
    ]),
  );
  const next = [...smallSite, { name: 'api', content: 'file' }, { name: 'about/us/index.html', content: 'us' }];
  expect(await place.take(await siteRequest(folder, 2, next))).toContain(`before: ${versionAt(1)}, commit`);
  expect(git(bare, 'show', 'main:site/api')).toBe('file');
  expect(git(bare, 'show', 'main:site/about/us/index.html')).toBe('us');
  // A folder that holds another's file stays, and is named.
  git(clone, 'pull', '--quiet', 'origin', 'main');
  await writeFile(join(clone, 'site/about/mine.txt'), 'mine');
  pushAll(clone, 'mine');
  const third = [...smallSite, { name: 'about', content: 'file' }];
  await expect(place.take(await siteRequest(folder, 3, third))).rejects.toMatchObject({
    name: 'TargetRefused',
    message: expect.stringMatching(/^site\/about is in the way \(EEXIST\): move it away/),
  });
  expect(git(bare, 'show', 'main:site/about/mine.txt')).toBe('mine');
});

it.each(['.docferry.json', 'guide/.docferry.json'])(
  "refuses a site with a file of the marker's name: %s",
  async (name) => {
    withAuthor();
    const { folder, bare, log } = await remote();
    const items = [...smallSite, { name, content: '{"mine":1}' }];
    await expect(siteIn(bare).take(await siteRequest(folder, 1, items))).rejects.toMatchObject({
      name: 'TargetRefused',
      mayPass: false,
      message: `the site has a file ${name}, and docferry writes files of that name itself: leave it out of the site`,
    });
    expect(log()).toEqual(['first']);
  },
);

it.each([
  ['the same', 'site'],
  ['one within its own', 'site/guide'],
])('leaves the folder of another site alone: %s', async (_what, path) => {
  withAuthor();
  const { folder, bare, clone } = await remote();
  const place = siteIn(bare);
  if (path !== 'site') {
    // A person has made room for the other site, of which this one's marker does not know.
    await place.take(await siteRequest(folder, 1, smallSite));
    git(clone, 'pull', '--quiet', 'origin', 'main');
    git(clone, 'rm', '-r', '--quiet', path);
    git(clone, 'commit', '--quiet', '-m', 'room');
    git(clone, 'push', '--quiet', 'origin', 'main');
  }
  const theirs = [
    { name: 'start.html', content: 'theirs' },
    { name: 'index.html', content: 'theirs' },
  ];
  await siteIn(bare, path).take(await siteRequest(folder, 1, theirs, 'blog.acme.example'));
  const before = git(bare, 'rev-parse', 'main');
  const next = await siteRequest(folder, 2, [{ name: 'index.html', content: 'ours' }]);
  await expect(place.take(next)).rejects.toMatchObject({
    name: 'TargetRefused',
    mayPass: false,
    message: `${path}/.docferry.json is of the site blog.acme.example: give each site a folder of its own, and remove this one where that site is gone`,
  });
  expect(git(bare, 'rev-parse', 'main')).toBe(before);
});

it('accepts a marker that names no site, as they did not always', async () => {
  withAuthor();
  const { folder, bare, clone } = await remote();
  const place = siteIn(bare);
  await place.take(await siteRequest(folder, 1, smallSite));
  git(clone, 'pull', '--quiet', 'origin', 'main');
  const record = join(clone, 'site/.docferry.json');
  const { domain, ...before } = JSON.parse(await readFile(record, 'utf8'));
  expect(domain).toBe('docs.acme.example');
  await writeFile(record, JSON.stringify(before));
  git(clone, 'commit', '--quiet', '-am', 'as before');
  git(clone, 'push', '--quiet', 'origin', 'main');
  expect(await place.take(await siteRequest(folder, 3, smallSite))).toContain(`before: ${versionAt(1)}, commit`);
  expect(JSON.parse(git(bare, 'show', 'main:site/.docferry.json'))).toMatchObject({ domain, version: versionAt(3) });
});
