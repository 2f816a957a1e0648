import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openBundleStore } from '../../src/exports/store/open-bundle-store.ts';
import { type Seen, watchSite } from '../tools/chaos/watching.ts';
import { markdownTable } from '../tools/markdown-table.ts';
import type { Kept } from '../tools/promises/kept.ts';
import { type DisturbanceKind, disturbanceKinds, disturbancesOf } from './plan.ts';
import { checkPromises } from './promises-kept.ts';
import { settle } from './settle.ts';
import { organizations, releaseFolder } from './soak-config.ts';
import { SoakScene } from './soak-scene.ts';
import { strike } from './strike.ts';
import { WorkLoad } from './work-load.ts';

/*
 * Disturbs all that docferry stands on for some time, by a plan that the seed decides, while work goes on; then lets it
 * settle and checks the promises against the service's own log, the stores and every history:
 *   npm run test:soak -- --minutes 20 --seed 1
 * Prints two tables; exit code 1 if a promise is broken, 2 for wrong flags.
 */

/** Between two looks of a reader at its site. */
const readerPauseMs = 1_000;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: '20' }, seed: { type: 'string', default: '1' } },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
    process.stderr.write('--minutes is a number above 0, --seed a whole number\n');
    return 2;
  }
  const repeat = `npm run test:soak -- --minutes ${minutes} --seed ${seed}`;
  const scene = await SoakScene.begin(seed);
  // Nothing that it started stays.
  const end = () => void scene.end().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
  try {
    const { done, kept, seconds } = await soak(scene, minutes, seed);
    const broken = kept.filter(({ ok }) => !ok);
    process.stdout.write(`${[...tables(done, kept, repeat, seconds, scene.fleet.builds), ''].join('\n')}`);
    if (broken.length === 0) return 0;
    const names = broken.map(({ promise, found }) => `${promise} (${found})`).join(', ');
    process.stderr.write(`broken: ${names}\nthe same disturbances again: ${repeat}\n`);
    return 1;
  } catch (error) {
    process.stderr.write(`seed ${seed}: ${scene.said().join('\n').slice(-3_000)}\nagain: ${repeat}\n`);
    throw error;
  } finally {
    await scene.end();
  }
}

type Counts = Map<DisturbanceKind, number>;

async function soak(scene: SoakScene, minutes: number, seed: number) {
  const begun = Date.now();
  const say = (line: string) => {
    const at = ((Date.now() - begun) / 1_000).toFixed(0);
    process.stderr.write(`  ${at} s: ${line}\n`);
  };
  const readers = startReaders(scene);
  const load = new WorkLoad(scene, seed);
  load.start();
  const done: Counts = new Map();
  const endAt = begun + minutes * 60_000;
  for (const disturbance of disturbancesOf(seed, scene.disk.canFill ? [] : ['disk full'])) {
    await sleep(Math.max(0, Math.min(disturbance.restMs, endAt - Date.now())));
    if (Date.now() >= endAt) break;
    say(disturbance.kind);
    await strike(scene, disturbance);
    await scene.fleet.retire();
    done.set(disturbance.kind, (done.get(disturbance.kind) ?? 0) + 1);
  }
  await load.stop();
  await settle(scene, say);
  const seen = await readers.seen();
  say('checks');
  const kept = await checkPromises(scene, { seen, joined: load.counts.joined });
  return { done, kept, seconds: (Date.now() - begun) / 1_000 };
}

/** One reader for the first site of each organization. */
function startReaders({ disk }: SoakScene): { seen: () => Promise<Map<string, Seen>> } {
  let over = false;
  const directory = `${disk.path}/bundles`;
  const config = { kind: 'directory', directory, publicUrl: 'http://localhost:8090', signing: null } as const;
  const reading = organizations.map(async ({ domains: [domain = ''] }): Promise<[string, Seen]> => {
    const bundles = await openBundleStore(config);
    const site = releaseFolder(disk.path, domain);
    const seen = await watchSite({ bundles, domain, site, isOver: () => over, pauseMs: readerPauseMs });
    return [domain, seen];
  });
  return {
    async seen() {
      over = true;
      return new Map(await Promise.all(reading));
    },
  };
}

function tables(done: Counts, kept: readonly Kept[], repeat: string, seconds: number, builds: number): string[] {
  const kinds = Object.keys(disturbanceKinds) as DisturbanceKind[];
  return [
    '',
    `\`${repeat}\`: ${[...done.values()].reduce((sum, count) => sum + count, 0)} disturbances, ${builds} builds, ${seconds.toFixed(0)} s`,
    '',
    ...markdownTable(
      ['disturbance', 'times'],
      kinds.map((kind) => [kind, `${done.get(kind) ?? 0}`]),
    ),
    '',
    ...markdownTable(
      ['promise', 'looked at', 'found', 'kept'],
      kept.map(({ promise, looked, found, ok }) => [promise, looked, found, ok ? 'yes' : 'NO']),
    ),
  ];
}
