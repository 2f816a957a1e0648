import type { VersionChanges } from '../../bundle/page-texts/compare-versions.ts';
import type { BundleStore } from '../../bundle/store/bundle-store.ts';
import { WorkSlots } from '../../bundle/work-slots.ts';
import { type ReadingTimes, SharedReading } from './shared-reading.ts';

/** Versions never change, but retention removes them. */
const freshMs = 600_000;
const longestMs = 60_000;
const mostKept = 20;

/** What versions change against each other, read once for everybody, one at a time. The latest few are kept. */
export class VersionComparisons {
  readonly #bundles: () => Promise<BundleStore>;
  readonly #times: ReadingTimes;
  readonly #kept = new Map<string, SharedReading<VersionChanges>>();
  readonly #slots = new WorkSlots(1);

  constructor(bundles: () => Promise<BundleStore>, times: ReadingTimes) {
    this.#bundles = bundles;
    this.#times = { ...times, freshMs };
  }

  of(domain: string, from: string | null, to: string): SharedReading<VersionChanges> {
    const key = JSON.stringify([domain, from, to]);
    const reading = this.#kept.get(key) ?? new SharedReading(() => this.#compare(domain, from, to), this.#times);
    this.#kept.delete(key);
    this.#kept.set(key, reading);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
    return reading;
  }

  async #compare(domain: string, from: string | null, to: string): Promise<VersionChanges> {
    const signal = AbortSignal.timeout(longestMs);
    return this.#slots.use(signal, async () => {
      // Reads HTML, which nothing else here does.
      const { compareVersions } = await import('../../bundle/page-texts/compare-versions.ts');
      return compareVersions(await this.#bundles(), domain, { from, to }, { signal });
    });
  }
}
