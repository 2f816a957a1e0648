import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Settings } from '../settings.ts';
import type { ObjectStore } from './objects.ts';
import type { SiteContent } from './site.ts';

/** How a job will end. */
export type Fate = 'complete' | 'fail' | 'vanish' | 'stuck';

/** A job as it stands now. Times are milliseconds since the epoch by the service's clock. */
export interface JobState {
  jobId: string;
  status: 'queued' | 'running' | 'completed' | 'failed';
  /** 0 to 1. */
  fraction: number;
  pageCount: number;
  pages: number;
  createdAt: number;
  updatedAt: number;
  error: string | null;
}

interface Job {
  id: string;
  org: string;
  content: SiteContent;
  fate: Fate;
  /** Monotonic. */
  startedAt: number;
  createdAt: number;
  archive: 'rendering' | 'ready' | 'broken';
}

const mostQueuedMs = 1_000;
const vanishesAt = 0.5;
const failsAt = 0.6;
const stuckAt = 0.4;
/** Contains a link, as such texts may: clients must not pass it on. */
const failure =
  'Rendering /guides/page-4 failed: upstream answered 500, see https://render.internal.example/trace?X-Amz-Signature=planted-link-token-trace';

/** Export jobs, whose progress depends only on time (service-interface.md). */
export class JobBoard {
  readonly #durationMs: number;
  readonly #objects: ObjectStore;
  readonly #clock: Clock;
  readonly #jobs = new Map<string, Job>();

  constructor(settings: Settings, objects: ObjectStore, clock: Clock) {
    this.#durationMs = settings.jobSeconds * 1_000;
    this.#objects = objects;
    this.#clock = clock;
  }

  /** Ids of all jobs ever started. */
  get ids(): readonly string[] {
    return [...this.#jobs.keys()];
  }

  /** Starts a job and, unless it will never complete, the rendering of its archive. */
  start(org: string, content: SiteContent, fate: Fate): JobState {
    const job: Job = {
      id: `job_${randomBytes(9).toString('hex')}`,
      org,
      content,
      fate,
      startedAt: this.#clock.mono(),
      createdAt: this.#clock.serviceNow(),
      archive: 'rendering',
    };
    this.#jobs.set(job.id, job);
    if (fate === 'complete') {
      this.#objects.render(this.#objects.keyOf(job.id), content).then(
        () => (job.archive = 'ready'),
        () => (job.archive = 'broken'),
      );
    }
    return this.#stateOf(job);
  }

  /** Null for jobs of other organizations, unknown and vanished ones. */
  find(org: string, jobId: string): JobState | null {
    const job = this.#jobs.get(jobId);
    if (job === undefined || job.org !== org) return null;
    const state = this.#stateOf(job);
    return job.fate === 'vanish' && state.fraction >= vanishesAt ? null : state;
  }

  #stateOf(job: Job): JobState {
    const elapsed = this.#clock.mono() - job.startedAt;
    const queuedMs = Math.min(mostQueuedMs, this.#durationMs / 10);
    const run = (elapsed - queuedMs) / Math.max(1, this.#durationMs - queuedMs);
    const due = Math.min(1, Math.max(0, run));
    const failed = job.archive === 'broken' || (job.fate === 'fail' && due >= failsAt);
    const completed = job.fate === 'complete' && job.archive === 'ready' && elapsed >= this.#durationMs;
    const fraction = completed ? 1 : Math.min(due, job.fate === 'stuck' ? stuckAt : 0.99);
    const pages = job.content.paths === null ? job.content.pages : new Set(['/', ...job.content.paths]).size;
    return {
      jobId: job.id,
      status: failed ? 'failed' : completed ? 'completed' : elapsed < queuedMs ? 'queued' : 'running',
      fraction,
      pageCount: Math.floor(fraction * pages),
      pages,
      createdAt: job.createdAt,
      updatedAt: job.createdAt + Math.min(elapsed, this.#durationMs),
      error: failed ? failure : null,
    };
  }
}
