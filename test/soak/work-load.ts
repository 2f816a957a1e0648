import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom, type Random, seedOf } from '../../sandbox/random.ts';
import type { PassKind } from '../../src/feedback/rules/sync.ts';
import { startExport } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { chosen } from './plan.ts';
import { organizations } from './soak-config.ts';
import { type SoakScene, taskQueue } from './soak-scene.ts';

const everyMs = 1_200;
const answerWithinMs = 5_000;
const passes: readonly PassKind[] = ['incremental', 'incremental', 'incremental', 'review', 'sweep'];
const statuses = ['pending', 'in_progress', 'resolved', 'dismissed'];

/** What goes on beside the disturbances: people and schedules start work, and the service's content changes. */
export class WorkLoad {
  readonly #scene: SoakScene;
  readonly #random: Random;
  readonly #over = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** Starts that were answered, those that joined a running export, and those that Temporal did not take. */
  readonly counts = { exports: 0, joined: 0, passes: 0, refused: 0 };

  constructor(scene: SoakScene, seed: number) {
    this.#scene = scene;
    this.#random = createRandom(seedOf(seed, 'load'));
  }

  start(): void {
    this.#running = this.#work();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  async #work(): Promise<void> {
    while (!this.#over.signal.aborted) {
      this.#changeService();
      try {
        await this.#scene.client.withDeadline(Date.now() + answerWithinMs, () => this.#startWork());
      } catch {
        // Temporal is away, or a rollback or an export with other parameters runs.
        this.counts.refused += 1;
      }
      await sleep(everyMs, undefined, { signal: this.#over.signal }).catch(() => {});
    }
  }

  async #startWork(): Promise<void> {
    const { client, settings } = this.#scene;
    const { id: org, projects, domains } = chosen(organizations, this.#random());
    if (this.#random() < 0.5) {
      const domain = chosen(domains, this.#random());
      if (this.#random() < 0.4) this.#scene.sandbox.publishRevision(domain);
      const input = { org, domain, parameters: {}, failover: settings.failover };
      const { joined } = await startExport(client, taskQueue, input, 'join');
      this.counts.exports += 1;
      if (joined) this.counts.joined += 1;
      return;
    }
    const { id: project } = chosen(projects, this.#random());
    const pass = chosen(passes, this.#random());
    await startSync(client, taskQueue, { org, project, pass, failover: settings.failover });
    this.counts.passes += 1;
  }

  /** A project has a new entry, another of its entries changes its status, one goes. */
  #changeService(): void {
    const { sandbox } = this.#scene;
    const { projects } = chosen(organizations, this.#random());
    const { id: project } = chosen(projects, this.#random());
    if (this.#random() < 0.5) sandbox.addEntries(project, { count: 1 });
    const served = [...sandbox.truth(project)] as ({ id?: unknown; status?: unknown; source?: unknown } | null)[];
    const ids = served.flatMap((entry) => (isReadable(entry) ? [entry.id] : []));
    const status = chosen(statuses, this.#random());
    sandbox.changeEntries(project, [{ id: chosen(ids, this.#random()), status }]);
    if (project !== projects.at(-1)?.id && this.#random() < 0.15)
      sandbox.deleteEntries(project, [chosen(ids, this.#random())]);
  }
}

/** Not one of those that the service spoils. */
function isReadable(entry: object | null): entry is { id: string } {
  const { id, source, comment } = (entry ?? {}) as Record<string, unknown>;
  return typeof id === 'string' && typeof source === 'string' && (comment === null || typeof comment === 'string');
}
