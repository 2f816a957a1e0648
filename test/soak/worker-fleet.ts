import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { findFreePort } from '../../src/local/ports.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';

const preload = resolve('test/soak/shifted-clock.mjs');
const deploymentName = 'soak';
const tryAgainMs = 500;
const currentWithinMs = 60_000;
/** Workflows that stay with the build that began them. */
const pinned = 'WorkflowType IN ("exportSite", "rollBack", "checkKey")';

/** A place for one worker of a build, whichever process it is now. */
interface Post {
  machine: string;
  build: number;
  process: DocferryProcess;
  metrics: string;
}

/** The workers of two machines, all of a Worker Deployment, and of the build before as long as it has exports to end. */
export class WorkerFleet {
  readonly #folder: string;
  readonly #client: Client;
  readonly #all: DocferryProcess[] = [];
  #posts: Post[] = [];
  #build = 0;
  /** When the present build was made current. */
  #currentSince = new Date();

  constructor(folder: string, client: Client) {
    this.#folder = folder;
    this.#client = client;
  }

  get builds(): number {
    return this.#build;
  }

  get size(): number {
    return this.#posts.length;
  }

  /** What all workers have said. */
  said(): string[] {
    return this.#all.map(({ output }) => output);
  }

  /** Starts workers of the next build beside the others and makes it the current one. */
  async nextBuild(): Promise<void> {
    this.#build += 1;
    const build = this.#build;
    const posts = ['machine-1', 'machine-2'].map((machine) => this.#start(machine, build));
    this.#posts.push(...(await Promise.all(posts)));
    await this.#makeCurrent(`${build}`);
    this.#currentSince = new Date();
  }

  /** Ends the workers of earlier builds once nothing is theirs any more; says whether that is so. */
  async retire(): Promise<boolean> {
    const old = this.#posts.filter(({ build }) => build < this.#build);
    if (old.length === 0) return true;
    const before = `ExecutionStatus = "Running" AND ${pinned} AND StartTime < "${this.#currentSince.toISOString()}"`;
    const running = await this.#client.workflow.count(before).then(
      ({ count }) => count,
      () => null,
    );
    if (running !== 0) return false;
    this.#posts = this.#posts.filter(({ build }) => build === this.#build);
    await Promise.all(old.map(({ process }) => process.kill('SIGTERM')));
    return true;
  }

  /** Kills one with -9; another process takes its place. */
  async kill(die: number): Promise<void> {
    const post = this.#post(die);
    await post.process.kill('SIGKILL');
    await this.#restart(post);
  }

  /** Has one end as it should; another process takes its place. */
  async end(die: number): Promise<void> {
    const post = this.#post(die);
    await post.process.kill('SIGTERM');
    await this.#restart(post);
  }

  async killAll(): Promise<void> {
    await Promise.all(this.#posts.map(({ process }) => process.kill('SIGKILL')));
  }

  /** Fills the places whose processes are gone. */
  async restartAll(): Promise<void> {
    await Promise.all(this.#posts.map((post) => this.#restart(post)));
  }

  /** One after the other, as for a changed configuration. */
  async replaceAll(): Promise<void> {
    for (const post of this.#posts) {
      await post.process.kill('SIGTERM');
      await this.#restart(post);
    }
  }

  /** Sets the clock of a machine's workers off by so much. */
  async shiftClock(machine: string, ms: number): Promise<void> {
    await writeFile(this.#clockFile(machine), `${ms}`);
  }

  /** What the workers show to Prometheus. */
  async metrics(): Promise<string[]> {
    return Promise.all(this.#posts.map(async ({ metrics }) => (await fetch(`http://${metrics}/metrics`)).text()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#posts.map(({ process }) => process.kill('SIGTERM')));
    this.#posts = [];
  }

  #post(die: number): Post {
    const post = this.#posts[Math.min(this.#posts.length - 1, Math.floor(die * this.#posts.length))];
    if (post === undefined) throw new Error('there is no worker');
    return post;
  }

  #clockFile(machine: string): string {
    return join(this.#folder, `clock-${machine}`);
  }

  async #restart(post: Post): Promise<void> {
    const { child } = post.process;
    if (child.exitCode === null && child.signalCode === null) return;
    Object.assign(post, await this.#start(post.machine, post.build));
  }

  async #start(machine: string, build: number): Promise<Post> {
    const metrics = `127.0.0.1:${await findFreePort()}`;
    const args = ['worker', '--deployment', deploymentName, '--build', `${build}`, '--metrics', metrics];
    const env = { NODE_OPTIONS: `--import ${preload}`, CLOCK_FILE: this.#clockFile(machine) };
    const process = new DocferryProcess(args, { cwd: this.#folder, env });
    this.#all.push(process);
    await process.says('worker: ready');
    return { machine, build, process, metrics };
  }

  /** As `temporal worker deployment set-current-version`, once the server knows the build. */
  async #makeCurrent(buildId: string): Promise<void> {
    const { workflowService, options } = this.#client;
    const request = { namespace: options.namespace, deploymentName, buildId, identity: 'soak' };
    const giveUpAt = Date.now() + currentWithinMs;
    for (;;) {
      try {
        await workflowService.setWorkerDeploymentCurrentVersion(request);
        return;
      } catch (error) {
        if (Date.now() > giveUpAt) throw error;
        await sleep(tryAgainMs);
      }
    }
  }
}
