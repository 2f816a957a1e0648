/** A pass on its schedule. */
export interface ForecastPass {
  /** Milliseconds since the epoch, in order. */
  starts: readonly number[];
  /** Mean requests per run; more than 0. */
  requests: number;
  /** Lower ranks go first. */
  rank: number;
}

export interface PassForecast {
  /** Runs that ended. */
  finished: number;
  /** Starts that were left out because the run before had not ended. */
  skipped: number;
  /** Longest time from a run's start to its last request, unfinished runs included. */
  longestMs: number;
  /** Mean time from an event to the last request of the first run begun after it; null with fewer than two runs. */
  stalenessMs: number | null;
}

export interface BudgetForecast {
  /** The window with the most demand; null when nothing ever starts. */
  fullest: { fromMs: number; requests: number } | null;
  /** In the order of the passes given. */
  passes: PassForecast[];
}

interface Running {
  startedMs: number;
  /** When its first request was sent; null before. */
  readMs: number | null;
  left: number;
}

interface State extends ForecastPass {
  running: Running | null;
  /** When its last request was sent. */
  servedMs: number;
  /** When the run before began to read. */
  readBeforeMs: number | null;
  /** Fractions of requests that rounding has left over so far. */
  remainder: number;
  finished: number;
  skipped: number;
  longestMs: number;
  waited: number;
  covered: number;
}

/**
 * Simulates schedules in a sliding window of `limit` requests up to `untilMs`: requests are sent at once while slots are
 * free, by rank, in turn within a rank; a start is left out while the previous run lasts (B2, B3). Requests take no
 * time; leases and promotion by age are left out. Times in milliseconds.
 */
export function forecastBudget(
  passes: readonly ForecastPass[],
  { limit, windowMs, untilMs }: { limit: number; windowMs: number; untilMs: number },
): BudgetForecast {
  const states = passes.map(
    (pass): State => ({
      ...pass,
      running: null,
      servedMs: Number.NEGATIVE_INFINITY,
      readBeforeMs: null,
      remainder: 0,
      finished: 0,
      skipped: 0,
      longestMs: 0,
      waited: 0,
      covered: 0,
    }),
  );
  const starts = startsInOrder(states);
  const sentMs: number[] = [];
  let now = Number.NEGATIVE_INFINITY;
  for (let next = 0, sent = 0; ; sent += 1) {
    const begun = starts[next];
    if (begun && !states.some(({ running }) => running)) now = Math.max(now, begun.atMs);
    // A slot comes free one window after the request `limit` places earlier.
    now = Math.max(now, (sentMs[sent % limit] ?? Number.NEGATIVE_INFINITY) + windowMs);
    if (now >= untilMs) break;
    for (let start = starts[next]; start && start.atMs <= now; start = starts[next]) {
      begin(start.state, start.atMs);
      next += 1;
    }
    const state = firstInTurn(states);
    if (state === null) break;
    sentMs[sent % limit] = now;
    send(state, now);
  }
  return {
    fullest: fullestWindow(starts, windowMs),
    passes: states.map(({ running, finished, skipped, longestMs, waited, covered }) => ({
      finished,
      skipped,
      longestMs: Math.max(longestMs, running === null ? 0 : untilMs - running.startedMs),
      stalenessMs: covered === 0 ? null : waited / covered,
    })),
  };
}

interface Start {
  atMs: number;
  state: State;
}

function startsInOrder(states: readonly State[]): Start[] {
  return states
    .flatMap((state) => state.starts.map((atMs) => ({ atMs, state })))
    .sort((a, b) => a.atMs - b.atMs || a.state.rank - b.state.rank);
}

function begin(state: State, startedMs: number): void {
  if (state.running !== null) {
    state.skipped += 1;
    return;
  }
  const due = state.requests + state.remainder;
  const left = Math.max(1, Math.floor(due));
  state.remainder = Math.max(0, due - left);
  state.running = { startedMs, readMs: null, left };
}

function firstInTurn(states: readonly State[]): State | null {
  return states.reduce<State | null>((first, state) => {
    if (state.running === null) return first;
    if (first === null || state.rank < first.rank) return state;
    return state.rank === first.rank && state.servedMs < first.servedMs ? state : first;
  }, null);
}

function send(state: State, now: number): void {
  const { running } = state;
  if (running === null) return;
  state.servedMs = now;
  running.readMs ??= now;
  running.left -= 1;
  if (running.left > 0) return;
  // Events since the previous run began to read waited for half of that time on average, then for this run's end.
  const gap = running.readMs - (state.readBeforeMs ?? running.readMs);
  state.covered += gap;
  state.waited += gap * (gap / 2 + now - running.readMs);
  state.readBeforeMs = running.readMs;
  state.longestMs = Math.max(state.longestMs, now - running.startedMs);
  state.finished += 1;
  state.running = null;
}

/** It is enough to look at windows that begin with a start. */
function fullestWindow(starts: readonly Start[], windowMs: number): BudgetForecast['fullest'] {
  let fullest: BudgetForecast['fullest'] = null;
  let requests = 0;
  let end = 0;
  for (const { atMs, state } of starts) {
    for (let next = starts[end]; next && next.atMs < atMs + windowMs; next = starts[end]) {
      requests += next.state.requests;
      end += 1;
    }
    if (fullest === null || requests > fullest.requests + 1e-9) fullest = { fromMs: atMs, requests };
    requests -= state.requests;
  }
  return fullest;
}
