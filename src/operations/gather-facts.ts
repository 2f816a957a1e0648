import type { Client } from '@temporalio/client';
import type { InService } from '../exports/store/bundle-store.ts';
import { runningWork } from '../temporal/running-work.ts';
import { nextStarts } from '../schedules/next-starts.ts';
import { waitingSyncs } from './waiting-syncs.ts';
import type { LatestRecords } from '../feedback/store/run-records.ts';
import type { Facts, Live } from './status-lines.ts';

/** Why a part did not answer, in the words that people see. */
export interface Trouble {
  code: string;
  message: string;
  hint: string | null;
}

/** A part of the installation that did not answer, and what is therefore unknown. */
export interface Unavailable extends Trouble {
  part: 'temporal' | 'feedback store' | 'bundle store';
  unknown: string;
}

/** How to ask each part; each is one reading, whatever the number of sites and projects. */
export interface FactSources {
  live(): Promise<Live>;
  records(): Promise<LatestRecords>;
  inService(): Promise<ReadonlyMap<string, InService>>;
}

/**
 * The answers of Temporal and the stores, asked all at once. A part that does not answer is named, and its facts are
 * null.
 */
export async function gatherFacts(
  sources: FactSources,
  explain: (error: unknown) => Trouble,
): Promise<{ facts: Facts; unavailable: Unavailable[] }> {
  const unavailable: Unavailable[] = [];
  const read = async <Found>(part: Unavailable['part'], unknown: string, ask: () => Promise<Found>) => {
    try {
      return await ask();
    } catch (error) {
      const { code, message, hint } = explain(error);
      unavailable.push({ part, unknown, code, message, hint });
      return null;
    }
  };
  const [live, records, inService] = await Promise.all([
    read('temporal', 'what runs, and when', () => sources.live()),
    read('feedback store', 'how the last runs ended', () => sources.records()),
    read('bundle store', 'what is in service and what is held', () => sources.inService()),
  ]);
  return { facts: { live, records, inService }, unavailable: unavailable.sort(byPart) };
}

const parts: readonly Unavailable['part'][] = ['temporal', 'feedback store', 'bundle store'];
const byPart = (a: Unavailable, b: Unavailable): number => parts.indexOf(a.part) - parts.indexOf(b.part);

/** What runs and starts next on the task queue, and which syncs wait, in a few requests. */
export async function readLive(client: Client, taskQueue: string): Promise<Live> {
  const [running, starts] = await Promise.all([runningWork(client, taskQueue), nextStarts(client, taskQueue)]);
  const reading = running.flatMap(({ target }) => (target.kind === 'sync' ? [target.org] : []));
  return { running, starts, syncs: await waitingSyncs(client, [...new Set(reading)]) };
}
