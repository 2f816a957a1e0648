import { lutimes, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import type { BundlePlaceConfig } from '../../src/config/config.ts';
import type { BundleStore } from '../../src/exports/store/bundle-store.ts';
import { openBundleStore } from '../../src/exports/store/open-bundle-store.ts';
import { auditStore } from '../../src/exports/store/verify-store.ts';
import { tarGz } from '../tools/bundle/build-archive.ts';
import { type Publication, publishOnce, siteDomain } from '../tools/chaos/publishing.ts';
import { type Seen, watchSite } from '../tools/chaos/watching.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';

const dayMs = 24 * 3_600_000;
/** The time in the first version's name. */
const begin = Date.UTC(2026, 10, 21);
const program = resolve('dist/test/tools/chaos/process.js');
const preload = resolve('test/chaos/kill-at-step.mjs');
/** The files of a folder store and of a folder target; all others are leftovers. */
const inStore = [
  /^\.(lock|store\.json|staging)$/,
  /^[^/]+(\/versions)?$/,
  /^[^/]+\/(current|in-use|observed|rollouts)\.json$/,
  /^[^/]+\/versions\/\d{8}T\d{6}Z-[0-9a-f]{12}(\/(bundle\.tar\.gz|manifest\.json))?$/,
];
const inSite = [/^releases$/, /^current(\/.+)?$/, /^releases\/\d{8}T\d{6}Z-[0-9a-f]{12}(\/.+)?$/];

/** One site with its store and its folder target, published repeatedly. */
export class PublishingScene {
  readonly folder: string;
  readonly config: BundlePlaceConfig;
  readonly site: string;
  readonly store: BundleStore;
  #published = 0;
  readonly #running: DocferryProcess[] = [];

  private constructor(folder: string, config: BundlePlaceConfig, site: string, store: BundleStore) {
    this.folder = folder;
    this.config = config;
    this.site = site;
    this.store = store;
  }

  /** @param place the folder for store and site; a new one by default */
  static async make(storeIn: (folder: string) => BundlePlaceConfig, place?: string): Promise<PublishingScene> {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-publish-'));
    const config = storeIn(place ?? folder);
    const site = join(place ?? folder, 'site');
    await mkdir(site, { recursive: true });
    return new PublishingScene(folder, config, site, await openBundleStore(config));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#running) await child.kill('SIGKILL');
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The publication of the next version: other content, a second later. */
  async next(bytes = 0): Promise<Publication> {
    this.#published += 1;
    const number = this.#published;
    const archive = join(this.folder, `${number}.tar.gz`);
    await writeFile(archive, siteArchive(`${number}`, bytes));
    const stageId = `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`;
    return { store: this.config, site: this.site, archive, stageId, at: begin + number * 1000 };
  }

  /** A process that publishes; with `killAt` it is killed -9 before that change of the file system. */
  publishing(publish: Publication, { killAt, rounds = 1 }: { killAt?: number; rounds?: number } = {}): DocferryProcess {
    const env = killAt === undefined ? {} : { NODE_OPTIONS: `--import ${preload}`, KILL_AT: `${killAt}` };
    return this.#start([JSON.stringify({ publish, rounds })], env);
  }

  /** A process that reads all the time, from now on; `seen` ends it. */
  async watching(): Promise<{ seen: () => Promise<Seen> }> {
    const until = join(this.folder, 'over');
    // Its own work folder: files of a running process must not count as leftovers.
    const store =
      this.config.kind === 's3' ? { ...this.config, workFolder: join(this.folder, 'watcher') } : this.config;
    const order = JSON.stringify({ watch: { store, site: this.site }, until });
    const child = this.#start([order]);
    await child.says('watching\n');
    return {
      seen: async () => {
        await writeFile(until, '');
        expect(await child.ended(), child.output).toBe(0);
        return JSON.parse(child.stdout.slice('watching\n'.length));
      },
    };
  }

  #start(args: readonly string[], env: NodeJS.ProcessEnv = {}): DocferryProcess {
    const child = new DocferryProcess(args, { cwd: this.folder, env, program });
    this.#running.push(child);
    return child;
  }

  /** What a reader sees now: one complete version and one complete release; every listed version is good. */
  async expectWhole(): Promise<void> {
    let looks = 0;
    const isOver = () => {
      looks += 1;
      return looks > 1;
    };
    const seen = await watchSite({ bundles: this.store, domain: siteDomain, site: this.site, isOver });
    expect(seen.problems).toEqual([]);
    const [audit] = await auditStore(this.store, [siteDomain]);
    const listed = (await this.store.versions(siteDomain)).map(({ version }) => version);
    const states = new Map(audit?.versions.map(({ version, state }) => [version, state]));
    expect(listed.map((version) => [version, states.get(version)])).toEqual(listed.map((version) => [version, 'good']));
    const current = await this.store.current(siteDomain);
    if (current !== null) expect(listed).toContain(current.version);
  }

  /** Repeats the interrupted run, as Temporal would; unused leftovers go once they are old enough. */
  async expectRepeated(publication: Publication): Promise<void> {
    await makeOld(this.site);
    const version = await publishOnce(publication);
    expect(await this.store.current(siteDomain)).toMatchObject({ version });
    await this.expectNothingLeft();
  }

  /** No leftovers of dead processes remain once they are old enough. */
  async expectNothingLeft(): Promise<void> {
    const fresh = await openBundleStore(this.config);
    await fresh.removeAbandoned(siteDomain, new Date(Date.now() + 8 * dayMs));
    const kept =
      this.config.kind === 'directory'
        ? await otherFiles(this.config.directory, inStore)
        : await otherFiles(this.config.workFolder, []);
    expect([...kept, ...(await otherFiles(this.site, inSite))]).toEqual([]);
  }
}

/** A site whose files all contain `mark`, and padding that does not compress. */
function siteArchive(mark: string, bytes: number): Buffer {
  const text = `<h1>${mark}</h1>`;
  const padding = Buffer.alloc(bytes, undefined);
  for (let at = 0, state = 1; at < bytes; at += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    padding[at] = state >>> 24;
  }
  return tarGz([
    { name: 'index.html', content: text },
    { name: 'guide/start.html', content: text },
    ...(bytes > 0 ? [{ name: 'guide/picture.png', content: padding }] : []),
  ]);
}

async function otherFiles(folder: string, own: readonly RegExp[]): Promise<string[]> {
  const paths = await readdir(folder, { recursive: true });
  return paths.filter((path) => !own.some((pattern) => pattern.test(path))).sort();
}

/** Makes it two days older, so that a target removes leftovers of dead processes. */
async function makeOld(site: string): Promise<void> {
  const then = new Date(Date.now() - 2 * dayMs);
  for (const path of await readdir(site, { recursive: true })) await lutimes(join(site, path), then, then);
}

/** The number of changes that a process under the preload has counted; null when it was killed. */
export function changesOf(child: DocferryProcess): number | null {
  const [, count] = /changes: (\d+)/.exec(child.output) ?? [];
  return count === undefined ? null : Number(count);
}
