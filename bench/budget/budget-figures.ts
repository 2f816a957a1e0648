import { mostInAnyWindow } from '../../sandbox/sliding-log.ts';

/** What the figures need of an entry of the sandbox's log. */
export interface Arrival {
  /** Milliseconds since the epoch. */
  at: number;
  /** The same moment on the sandbox's monotonic clock, in milliseconds. */
  atMono: number;
  path: string;
  status: number | null;
  fault: string | null;
}

interface Setting {
  requests: number;
  windowMs: number;
  /** Pages there are to read. */
  pages: number;
  /** Requests of each window that others burn. */
  otherClients: number;
}

/** One cell of the table "Budget use", and where its lateness comes from. */
export interface Figures {
  /** First to last request that was answered with a page. */
  spanMs: number;
  /** Whole windows that the limit makes the pages take, extra requests after injected faults included. */
  minimumMs: number;
  windowEdges: number;
  requests: number;
  throttled: number;
  /** All sources and refused ones included. */
  mostInWindow: number;
  /** How late the first request after each window edge was; empty when the bursts cannot be told apart. */
  edgesLateMs: number[];
  /** From the first to the last request of the last window, and how many they were. */
  lastWindow: { ms: number; pages: number } | null;
  otherClients: { requests: number; displaced: number; displacedByFirstBurst: number };
}

const injected: ReadonlySet<string> = new Set(['error', 'reset', 'resetAfter', 'gateway']);

/** Requests for feedback; all others on the analytics endpoints are other clients'. */
export function isOwn({ path }: Pick<Arrival, 'path'>): boolean {
  return path.endsWith('/feedback');
}

/**
 * The figures of bench/README.md "budget" from the analytics part of the sandbox's log, in the order of arrival. With bursts
 * of the whole limit, time = minimum + what each edge is late + the last window's span: nothing else is left over.
 */
export function figuresOf(
  log: readonly Arrival[],
  { requests: limit, windowMs, pages, otherClients }: Setting,
): Figures {
  const own = log.filter(isOwn);
  const others = log.filter((arrival) => !isOwn(arrival));
  const answered = own.filter(({ status }) => status === 200).map(({ atMono }) => atMono);
  const throttled = own.filter(({ status }) => status === 429).length;
  const faults = own.filter(({ fault }) => fault !== null && injected.has(fault)).length;
  const windowEdges = Math.max(0, Math.ceil((pages + faults) / (limit - otherClients)) - 1);
  const start = answered[0] ?? 0;
  const displaced = others.filter(({ status }) => status === 429);
  return {
    spanMs: (answered.at(-1) ?? 0) - start,
    minimumMs: windowEdges * windowMs,
    windowEdges,
    requests: own.length,
    throttled,
    mostInWindow: mostInAnyWindow(
      log.map(({ atMono }) => atMono),
      windowMs,
    ),
    ...(throttled > 0 || others.length > 0 ? noBursts : bursts(own, limit, windowMs, windowEdges)),
    otherClients: {
      requests: others.length,
      displaced: displaced.length,
      displacedByFirstBurst: displaced.filter(({ atMono }) => atMono >= start && atMono - start < windowMs).length,
    },
  };
}

const noBursts = { edgesLateMs: [], lastWindow: null };

function bursts(
  own: readonly Arrival[],
  limit: number,
  windowMs: number,
  edges: number,
): Pick<Figures, 'edgesLateMs' | 'lastWindow'> {
  const firsts = Array.from({ length: edges + 1 }, (_, burst) => own[burst * limit]?.atMono);
  const last = own.at(-1)?.atMono;
  const lastFirst = firsts.at(-1);
  if (last === undefined || lastFirst === undefined) return noBursts;
  const edgesLateMs = firsts.slice(1).map((first, i) => (first ?? 0) - (firsts[i] ?? 0) - windowMs);
  return { edgesLateMs, lastWindow: { ms: last - lastFirst, pages: own.length - edges * limit } };
}
