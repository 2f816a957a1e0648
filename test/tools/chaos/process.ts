import { existsSync } from 'node:fs';
import { StoreUnreachable } from '../../../src/exports/store/bundle-store.ts';
import { openBundleStore } from '../../../src/exports/store/open-bundle-store.ts';
import { type Publication, publishOnce, siteDomain } from './publishing.ts';
import { watchSite } from './watching.ts';

/*
 * A separate process for the tests in test/chaos; one JSON argument says what to do:
 *   {"publish": Publication}                          publishes once
 *   {"publish": Publication, "rounds": N}             publishes N times, a second in the version's name apart
 *   {"watch": {store, site}, "until": FILE}           reads until the file exists, then prints what it has seen; the first line says that it has begun
 */

type Order =
  | { publish: Publication; rounds?: number }
  | { watch: Pick<Publication, 'store' | 'site'>; until: string; publish?: undefined };

const mostTries = 5;
const order: Order = JSON.parse(process.argv[2] ?? '');
if (order.publish) {
  const { publish, rounds = 1 } = order;
  const published: (string | null)[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { stageId, at } = publish;
    // The id of a run, another one each time.
    const own = stageId.slice(0, -12) + String(round).padStart(12, '0');
    published.push(await repeated({ ...publish, stageId: own, at: at + round * 1000 }));
  }
  process.stdout.write(JSON.stringify(published));
} else {
  const { watch, until } = order;
  const bundles = await openBundleStore(watch.store);
  process.stdout.write('watching\n');
  const seen = await watchSite({ bundles, domain: siteDomain, site: watch.site, isOver: () => existsSync(until) });
  process.stdout.write(JSON.stringify(seen));
}
process.exit();

/** Retries what may pass, as Temporal would. */
async function repeated(publication: Publication): Promise<string | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await publishOnce(publication);
    } catch (error) {
      if (!(error instanceof StoreUnreachable) || tries === mostTries) throw error;
    }
  }
}
