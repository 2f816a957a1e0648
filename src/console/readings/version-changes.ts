import type { VersionChanges } from '../../exports/verify/compare-versions.ts';
import type { BundleStore } from '../../exports/store/bundle-store.ts';
import { WorkSlots } from '../../exports/work-slots.ts';
import { LatestReadings } from './latest-readings.ts';
import type { ReadingTimes, SharedReading } from './shared-reading.ts';

/** Versions never change, but retention removes them. */
const freshMs = 600_000;
const longestMs = 60_000;
const mostKept = 20;

/** What versions change against each other, read once for everybody, and one at a time. */
export class VersionComparisons {
  readonly #bundles: () => Promise<BundleStore>;
  readonly #readings: LatestReadings<VersionChanges>;
  readonly #slots = new WorkSlots(1);

  constructor(bundles: () => Promise<BundleStore>, times: ReadingTimes) {
    this.#bundles = bundles;
    this.#readings = new LatestReadings(mostKept, { ...times, freshMs });
  }

  /** `from` is null when nothing is in service. */
  of(domain: string, from: string | null, to: string): SharedReading<VersionChanges> {
    return this.#readings.of(JSON.stringify([domain, from, to]), () => this.#compare(domain, from, to));
  }

  async #compare(domain: string, from: string | null, to: string): Promise<VersionChanges> {
    const signal = AbortSignal.timeout(longestMs);
    return this.#slots.use(signal, async () => {
      // Loads a reader of HTML, which no other page needs.
      const { compareVersions } = await import('../../exports/verify/compare-versions.ts');
      return compareVersions(await this.#bundles(), domain, { from, to }, { signal });
    });
  }
}
