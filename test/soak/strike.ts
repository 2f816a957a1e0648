import { setTimeout as sleep } from 'node:timers/promises';
import type { Faults } from '../../sandbox/index.ts';
import { budgetView } from '../../src/budget/client.ts';
import { chosen, type Disturbance, type DisturbanceKind } from './plan.ts';
import { limits, organizations } from './soak-config.ts';
import type { SoakScene } from './soak-scene.ts';

/** How long a part that was killed is away, as if a supervisor started it again. */
const awayMs = (die: number) => 500 + die * 4_000;
/** How long a state of the service or the disk lasts. */
const lastsMs = (die: number) => 3_000 + die * 9_000;
const limitSeenWithinMs = 90_000;
const hourMs = 3_600_000;
const jumpsMs = [-hourMs, -600_000, 30_000, hourMs, 24 * hourMs];
const machines = ['machine-1', 'machine-2'];
const domains = organizations.flatMap((organization) => organization.domains);
const allLinks = 300_000;

type Strike = (scene: SoakScene, dice: Disturbance['dice']) => Promise<void>;

/** Makes one of "the next n" requests fail, in one of several ways. */
const nextOnes =
  (...names: (keyof Faults)[]): Strike =>
  async ({ sandbox }, [which, howMany]) =>
    sandbox.setFaults({ [chosen(names, which)]: 1 + Math.floor(howMany * 4) });

const strikes: Record<DisturbanceKind, Strike> = {
  'worker killed': ({ fleet }, [which]) => fleet.kill(which),
  'worker ended': ({ fleet }, [which]) => fleet.end(which),
  async 'Temporal killed'(scene, [howLong]) {
    await scene.killTemporal();
    await sleep(awayMs(howLong));
    await scene.startTemporal();
  },
  async 'PostgreSQL killed'({ postgres }, [howLong]) {
    await postgres.crash();
    await sleep(awayMs(howLong));
    await postgres.start();
  },
  async 'everything killed'(scene, [howLong]) {
    const { fleet, postgres } = scene;
    await Promise.all([fleet.killAll(), scene.killTemporal(), postgres.crash()]);
    await sleep(awayMs(howLong));
    await Promise.all([postgres.start(), scene.startTemporal()]);
    await fleet.restartAll();
  },
  async 'disk full'({ disk }, [howFull, howLong]) {
    await disk.fillUpTo(Math.floor(howFull * 400_000));
    await sleep(lastsMs(howLong));
    await disk.free();
  },
  async 'clock of a worker jumps'({ fleet }, [which, howFar, howLong]) {
    const machine = chosen(machines, which);
    await fleet.shiftClock(machine, chosen(jumpsMs, howFar));
    await sleep(lastsMs(howLong));
    await fleet.shiftClock(machine, 0);
  },
  'feedback answers fail': nextOnes('errors', 'gatewayErrors', 'resets', 'resetsAfter'),
  'feedback pages are cut': nextOnes('cutBody', 'badJson'),
  'feedback answers 429': async ({ sandbox }) => sandbox.setFaults({ force429: 1, force429WaitMs: 2_000 }),
  async 'key refused'(scene, [howLong]) {
    scene.sandbox.setFaults({ unauthorized: true });
    await sleep(lastsMs(howLong));
    scene.sandbox.setFaults({ unauthorized: false });
    await tryKeys(scene);
  },
  'jobs fail': nextOnes('failJobs', 'vanishJobs', 'exportErrors'),
  'job answers lost': nextOnes('jobStartResets', 'startErrors'),
  async 'downloads cut'(scene, dice) {
    if (dice[2] < 0.5) return nextOnes('storageCut', 'storageErrors')(scene, dice);
    scene.sandbox.setFaults({ storageResetEvery: 50_000 });
    await sleep(lastsMs(dice[1]));
    scene.sandbox.setFaults({ storageResetEvery: 0 });
  },
  async 'links expire'({ sandbox }, [howLong]) {
    sandbox.setFaults({ linkLifetimeMs: 1 });
    await sleep(lastsMs(howLong));
    sandbox.setFaults({ linkLifetimeMs: allLinks });
  },
  'bundle replaced': async ({ sandbox }) => sandbox.setFaults({ replaceObjectAfter: 60_000 }),
  async 'receiver fails'({ receiver }, [howMany]) {
    for (let left = 1 + Math.floor(howMany * 5); left > 0; left -= 1) receiver.answers.push({ status: 503 });
  },
  async 'limit changed'(scene, [which, howMany]) {
    const { id } = chosen(organizations, which);
    const others = limits.filter((limit) => limit !== scene.settings.requests[id]);
    await changeLimit(scene, id, chosen(others, howMany));
  },
  async 'site taken out'(scene, [which, howLong]) {
    scene.settings.without = chosen(domains, which);
    await configureAnew(scene);
    await sleep(lastsMs(howLong));
    scene.settings.without = null;
    await configureAnew(scene);
  },
  async 'failover changed'(scene) {
    scene.settings.failover = scene.settings.failover === 'fast' ? 'tolerant' : 'fast';
    await configureAnew(scene);
  },
  async 'build replaced'({ fleet }) {
    await fleet.nextBuild();
  },
};

/** Does it, and returns when what it broke is in place again. */
export async function strike(scene: SoakScene, { kind, dice }: Disturbance): Promise<void> {
  await strikes[kind](scene, dice);
}

/** Everything as it was in the beginning, but for the build. */
export async function calm(scene: SoakScene): Promise<void> {
  scene.sandbox.setFaults({ ...noFaults, linkLifetimeMs: allLinks });
  scene.receiver.answers.length = 0;
  await scene.disk.free();
  for (const machine of machines) await scene.fleet.shiftClock(machine, 0);
  for (const { id } of organizations) await changeLimit(scene, id, limits[0]);
  await tryKeys(scene);
}

const counted: (keyof Faults)[] = [
  ...(['errors', 'gatewayErrors', 'resets', 'resetsAfter', 'cutBody', 'badJson', 'force429'] as const),
  ...(['failJobs', 'vanishJobs', 'jobStartResets', 'startErrors', 'exportErrors'] as const),
  ...(['storageCut', 'storageErrors', 'storageResetEvery', 'replaceObjectAfter'] as const),
];
const noFaults: Partial<Faults> = Object.fromEntries(counted.map((name) => [name, 0]));

/** Has the configured workers and schedules follow the configuration as it is to be now. */
async function configureAnew(scene: SoakScene): Promise<void> {
  await scene.configure();
  await scene.fleet.replaceAll();
  await scene.docferry(['schedules', 'apply']);
}

/** By the configuration; waits until the budget says so. */
async function changeLimit(scene: SoakScene, org: string, requests: number): Promise<void> {
  const { client, limits: inForce, settings } = scene;
  const last = inForce.findLast((limit) => limit.org === org);
  if (last?.requests === requests) return;
  if (last) last.until = Date.now();
  settings.requests[org] = requests;
  await scene.configure();
  await scene.fleet.replaceAll();
  const giveUpAt = Date.now() + limitSeenWithinMs;
  for (let limit = -1; limit !== requests; ) {
    limit = await budgetView(client, org).then(
      (view) => view.limit,
      () => -1,
    );
    if (Date.now() > giveUpAt) throw new Error(`the budget of ${org} has the limit ${limit} instead of ${requests}`);
    await sleep(250);
  }
  inForce.push({ org, requests, from: Date.now(), until: Number.POSITIVE_INFINITY });
}

/** A person who asks makes waiting runs try the key at once. */
async function tryKeys(scene: SoakScene): Promise<void> {
  for (const { projects } of organizations) {
    for (const { id } of projects.slice(0, 1)) await scene.docferry(['feedback', 'sync', id]);
  }
}
