import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { openStatuses } from '../../src/feedback/rules/feedback-entry.ts';

/** What happens to an entry; `silent` is a change between two statuses that are not open. */
export type EventKind = 'new' | 'status' | 'silent' | 'edit' | 'delete';

/** The first line of a world's file. Moments and spans in milliseconds. */
interface WorldHead {
  start: number;
  days: number;
  /** Requests that the service answers in a window, those of other clients included. */
  limit: number;
  windowMs: number;
  measureFrom: number;
  measureTo: number;
  projects: string[];
}

export interface WorldEvent {
  at: number;
  project: string;
  id: string;
  kind: EventKind;
  status: string;
}

/** A world as its file has it (README.md). */
export interface WorldFile extends WorldHead {
  entries: { project: string; id: string; createdAt: number; status: string }[];
  events: WorldEvent[];
  /** When other clients send requests, ascending. */
  others: number[];
}

/** A line of a world's file. */
export type WorldLine = Partial<WorldHead & WorldEvent & { createdAt: number; other: number }>;

/** Reads a world's file. Throws an error that names the line it cannot understand. */
export async function readWorld(file: string): Promise<WorldFile> {
  const lines: WorldLine[] = [];
  for await (const text of createInterface({ input: createReadStream(file) })) {
    if (text.trim() !== '') lines.push(JSON.parse(text) as WorldLine);
  }
  return worldFrom(lines, file);
}

/** A world of its lines. `file` names it in errors. */
export function worldFrom(lines: Iterable<WorldLine>, file = 'the world'): WorldFile {
  let world: WorldFile | null = null;
  let count = 0;
  for (const line of lines) {
    count += 1;
    if (world === null) world = { ...(line as WorldHead), entries: [], events: [], others: [] };
    else if (line.other !== undefined) world.others.push(line.other);
    else if (line.at !== undefined) world.events.push(line as WorldEvent);
    else if (line.createdAt !== undefined) world.entries.push(line as WorldFile['entries'][number]);
    else throw new Error(`${file}, line ${count}: neither an entry, nor an event, nor a request of others`);
  }
  if (world === null) throw new Error(`${file} is empty`);
  return world;
}

/** An entry at the service. */
export interface WorldEntry {
  id: string;
  createdAt: number;
  status: string;
  deleted: boolean;
  /** What happened to it that the store does not know yet. */
  unseen: { at: number; kind: EventKind }[];
}

export interface WorldQuery {
  project: string;
  from: number | null;
  to: number | null;
  openOnly: boolean;
}

/** What one request brings: the cursor counts entries from the oldest. */
export interface WorldPage {
  entries: WorldEntry[];
  cursor: number | null;
}

const pageSize = 100;
const groupOf = { new: 'new', status: 'status', silent: 'silent', edit: 'silent', delete: 'silent' } as const;
type Group = (typeof groupOf)[EventKind];

/** Delays of one group of events. */
interface Delays {
  events: number;
  meanS: number;
  p95S: number;
  /** Its part of J. */
  j: number;
}

export interface Measured extends Record<Group, Delays> {
  requests: number;
  requestsPerHour: number;
  refused: number;
  othersRefused: number;
  J: number;
}

/** Plays a world: what the service answers at a moment, and when the store knew what had happened. Time only goes on. */
export class World {
  readonly head: WorldHead;
  readonly end: number;
  now: number;
  refused = 0;
  private othersRefused = 0;
  private readonly projects = new Map<string, { entries: WorldEntry[]; byId: Map<string, WorldEntry> }>();
  private readonly events: readonly WorldEvent[];
  private readonly others: readonly number[];
  private nextEvent = 0;
  private nextOther = 0;
  /** Requests that the service has counted, of all clients, from `servedFrom` on within the window. */
  private readonly served: number[] = [];
  private servedFrom = 0;
  private readonly sent: number[] = [];
  private readonly known: { kind: EventKind; at: number; delay: number }[] = [];

  constructor(file: WorldFile) {
    this.head = file;
    this.end = file.start + file.days * 86_400_000;
    this.now = file.start;
    this.events = file.events;
    this.others = file.others;
    for (const id of file.projects) this.projects.set(id, { entries: [], byId: new Map() });
    for (const entry of [...file.entries].sort((a, b) => a.createdAt - b.createdAt)) this.add(entry);
  }

  /** Entries of a project, oldest first, deleted ones included. */
  entriesOf(project: string): readonly WorldEntry[] {
    return this.projects.get(project)?.entries ?? [];
  }

  advance(now: number): void {
    for (; ; this.nextEvent += 1) {
      const event = this.events[this.nextEvent];
      if (event === undefined || event.at > now) break;
      const { project, id, at, kind, status } = event;
      const entry = kind === 'new' ? this.add({ project, id, createdAt: at, status }) : this.find(project, id);
      if (kind === 'delete') entry.deleted = true;
      else entry.status = status;
      entry.unseen.push({ at, kind });
    }
    this.now = now;
  }

  /** The service counts a request of ours; what it answers when its window is full: after how long to come back. */
  admit(now: number): { retryAfterMs: number } | null {
    const { limit, windowMs } = this.head;
    for (; (this.others[this.nextOther] ?? now + 1) <= now; this.nextOther += 1) {
      const at = this.others[this.nextOther] ?? now;
      if (this.inWindow(at) < limit) this.served.push(at);
      else this.othersRefused += 1;
    }
    if (this.inWindow(now) >= limit) {
      this.refused += 1;
      return { retryAfterMs: Math.max(1_000, (this.served[this.servedFrom] ?? now) + windowMs - now) };
    }
    this.served.push(now);
    this.sent.push(now);
    return null;
  }

  /** A page of at most 100 entries, newest first. */
  page({ project, from, to, openOnly }: WorldQuery, cursor: number | null, now: number): WorldPage {
    this.advance(now);
    const entries = this.projects.get(project)?.entries ?? [];
    const before = to === null ? entries.length : firstFrom(entries, to);
    const got: WorldEntry[] = [];
    for (let i = Math.min(cursor ?? before, before) - 1; i >= 0; i -= 1) {
      const entry = entries[i];
      if (entry === undefined || (from !== null && entry.createdAt < from)) break;
      if (entry.deleted || (openOnly && !openStatuses.includes(entry.status))) continue;
      if (got.length === pageSize) return { entries: got, cursor: i + 1 };
      got.push(entry);
    }
    return { entries: got, cursor: null };
  }

  /** The store knows at `at` what has happened to an entry; whether anything had. */
  learn(entry: WorldEntry, at: number): boolean {
    if (entry.unseen.length === 0) return false;
    for (const event of entry.unseen) this.known.push({ ...event, delay: at - event.at });
    entry.unseen = [];
    return true;
  }

  /**
   * Delays of what happened within the measured days. What the store never got to know counts with its age at the end,
   * but for entries that came and went between two readings.
   */
  measured(): Measured {
    const { measureFrom, measureTo } = this.head;
    const delays: Record<Group, number[]> = { new: [], status: [], silent: [] };
    const count = (kind: EventKind, at: number, delay: number) => {
      if (at >= measureFrom && at < measureTo) delays[groupOf[kind]].push(delay);
    };
    for (const { kind, at, delay } of this.known) count(kind, at, delay);
    for (const { entries } of this.projects.values()) {
      for (const { unseen } of entries) {
        if (unseen[0]?.kind === 'new' && unseen.at(-1)?.kind === 'delete') continue;
        for (const { at, kind } of unseen) count(kind, at, this.now - at);
      }
    }
    const inMeasure = this.sent.filter((at) => at >= measureFrom && at < measureTo).length;
    const summary = (all: number[]) => delaysOf(all, measureTo - measureFrom);
    const groups = { new: summary(delays.new), status: summary(delays.status), silent: summary(delays.silent) };
    return {
      requests: this.sent.length,
      requestsPerHour: inMeasure / ((measureTo - measureFrom) / 3_600_000),
      refused: this.refused,
      othersRefused: this.othersRefused,
      J: rounded(groups.new.j + groups.status.j + groups.silent.j),
      ...groups,
    };
  }

  private add({ project, id, createdAt, status }: WorldFile['entries'][number]): WorldEntry {
    const known = this.projects.get(project);
    if (known === undefined) throw new Error(`an entry of ${project}, which the first line does not name`);
    const entry: WorldEntry = { id, createdAt, status, deleted: false, unseen: [] };
    known.entries.push(entry);
    known.byId.set(id, entry);
    return entry;
  }

  private find(project: string, id: string): WorldEntry {
    const entry = this.projects.get(project)?.byId.get(id);
    if (entry === undefined) throw new Error(`something happens to ${id} of ${project}, which does not exist`);
    return entry;
  }

  private inWindow(at: number): number {
    while ((this.served[this.servedFrom] ?? at) <= at - this.head.windowMs) this.servedFrom += 1;
    return this.served.length - this.servedFrom;
  }
}

function delaysOf(delays: number[], measuredMs: number): Delays {
  delays.sort((a, b) => a - b);
  const sum = delays.reduce((total, delay) => total + delay, 0);
  return {
    events: delays.length,
    meanS: Math.round(sum / Math.max(1, delays.length) / 1_000),
    p95S: Math.round((delays[Math.floor(delays.length * 0.95)] ?? 0) / 1_000),
    j: rounded(sum / measuredMs),
  };
}

const rounded = (value: number): number => Number(value.toFixed(3));

/** The place of the first entry created at `moment` or later; entries come oldest first. */
function firstFrom(entries: readonly WorldEntry[], moment: number): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.createdAt ?? 0) < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}
