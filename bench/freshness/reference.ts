import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WorldPlan } from './draw-world.ts';
import { type EventKind, type Measured, type WorldFile, type WorldLine, worldFrom } from './world.ts';

/** A reference policy: draws worlds, and plays any. */
export interface Reference {
  draw(plan: WorldPlan): WorldFile;
  /** With `share` (0 to 1) of what other clients leave: it knows what they use. */
  play(file: WorldFile, share: number): Measured;
}

/** A world as the reference has it: entries by their place, statuses by their place in the list. */
interface Drawn extends Pick<WorldFile, 'start' | 'days' | 'limit' | 'windowMs' | 'others'> {
  from: number;
  to: number;
  projects: {
    id: string;
    p: number;
    lambda: number;
    created: number[];
    first: Uint8Array;
    dead: Uint8Array;
    triaged: Uint8Array;
  }[];
  events: [at: number, project: number, entry: number, kind: EventKind, status: number][];
}

interface WorldModule {
  STATUSES: readonly string[];
  drawWorld(plan: { n: number; others: number; seed: number; untriaged: number }): Drawn;
  toLines(drawn: Drawn): Iterable<WorldLine>;
  World: new (drawn: Drawn) => { end: number };
  measure(world: object): Measured;
}

interface QueueModule {
  Queue: new (
    world: object,
    options: { reserve: number; share: number; weightNew: number },
  ) => { run(until: number): void };
}

/** The policy in a folder with `world.mjs` and `queue.mjs`. */
export async function loadReference(folder: string): Promise<Reference> {
  const load = (file: string) => import(pathToFileURL(resolve(folder, file)).href);
  const worlds: WorldModule = await load('world.mjs');
  const { Queue }: QueueModule = await load('queue.mjs');
  return {
    draw: ({ projects: n, ...plan }) => worldFrom(worlds.toLines(worlds.drawWorld({ n, ...plan }))),
    play(file, share) {
      const perHour = Math.round(file.others.length / (file.days * 24));
      const world = new worlds.World(drawnOf(file, worlds.STATUSES));
      new Queue(world, { reserve: perHour === 0 ? 0 : perHour + 2, share, weightNew: 10 }).run(world.end);
      return worlds.measure(world);
    },
  };
}

function drawnOf(file: WorldFile, statuses: readonly string[]): Drawn {
  const { start, days, limit, windowMs, measureFrom: from, measureTo: to, others } = file;
  const places = new Map<string, [project: number, entry: number]>();
  const projects = file.projects.map((id, p) => {
    const isOurs = ({ project }: { project: string }) => project === id;
    const born = file.events.filter((event) => event.kind === 'new' && isOurs(event));
    const entries = [
      ...file.entries.filter(isOurs).sort((a, b) => a.createdAt - b.createdAt),
      ...born.map((event) => ({ ...event, createdAt: event.at, status: 'pending' })),
    ];
    // No two at the same moment.
    let last = 0;
    const created = entries.map(({ createdAt }) => (last = Math.max(last + 1, createdAt)));
    for (const [place, entry] of entries.entries()) places.set(`${id} ${entry.id}`, [p, place]);
    const first = Uint8Array.from(entries, ({ status }) => statuses.indexOf(status));
    const none = () => new Uint8Array(entries.length);
    return { id, p, lambda: 0, created, first, dead: none(), triaged: none().fill(1) };
  });
  const events = file.events.map(({ at, project, id, kind, status }): Drawn['events'][number] => {
    const [p, place] = places.get(`${project} ${id}`) ?? [0, 0];
    return [at, p, place, kind, statuses.indexOf(status)];
  });
  return { start, days, limit, windowMs, from, to, projects, events, others };
}
