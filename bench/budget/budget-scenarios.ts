/** What disturbs a run while it goes on. */
type Disturbance = 'kills' | 'server-restart';

/** One run of docferry against the sandbox; shares are of the limit, the entries are divided among the projects. */
export interface Scenario {
  name: string;
  title: string;
  projects: number;
  workers: number;
  sandboxFlags: readonly string[];
  /** Share of each window that another program burns, evenly, from one window before. */
  otherClients: number;
  disturbance: Disturbance | null;
  /** Runs with `--long` or by name only. */
  long: boolean;
}

const plain = {
  projects: 1,
  workers: 1,
  sandboxFlags: [],
  otherClients: 0,
  disturbance: null,
  long: false,
} satisfies Partial<Scenario>;

const withoutRetryAfter = ['--retry-after', 'none'];
const rejectedCount = ['--count-rejected'];
const strangersShare = 0.3;

export const scenarios: readonly Scenario[] = [
  { ...plain, name: 'base', title: 'one project, one worker' },
  { ...plain, name: 'no-retry-after', title: '429 without Retry-After', sandboxFlags: withoutRetryAfter },
  { ...plain, name: 'rejected-counted', title: 'rejected requests count too', sandboxFlags: rejectedCount },
  { ...plain, name: 'two-projects', title: 'two projects, two workers', projects: 2, workers: 2 },
  { ...plain, name: 'five-projects', title: 'five projects, two workers', projects: 5, workers: 2 },
  {
    ...plain,
    name: 'faults',
    title: '5 % 500s, 2 % resets; two projects, two workers',
    projects: 2,
    workers: 2,
    sandboxFlags: ['--error-rate', '0.05', '--reset-rate', '0.02'],
  },
  {
    ...plain,
    name: 'restart',
    title: 'Temporal killed (-9) and started again half way; two workers',
    workers: 2,
    disturbance: 'server-restart',
  },
  {
    ...plain,
    name: 'kills',
    title: 'one of two workers killed (-9) every half window, the one at work if any; answers take 100 ms',
    workers: 2,
    sandboxFlags: ['--slow', '100ms'],
    disturbance: 'kills',
  },
  { ...plain, name: 'otherClients', title: '30 % of each window burnt by others', otherClients: strangersShare },
  {
    ...plain,
    name: 'otherClients-no-retry-after',
    title: 'the same without Retry-After',
    otherClients: strangersShare,
    sandboxFlags: withoutRetryAfter,
    long: true,
  },
  {
    ...plain,
    name: 'otherClients-rejected-counted',
    title: 'the same, rejected requests count too',
    otherClients: strangersShare,
    sandboxFlags: rejectedCount,
    long: true,
  },
];

/** Programs that do the same work the plain way. */
export const peers = [
  {
    title: 'Temporal activity queue, `maxTaskQueueActivitiesPerSecond`',
    program: 'dist/bench/budget/peer-queue.js',
    args: [],
  },
  { title: 'p-throttle (strict) + axios', program: 'dist/bench/budget/peer-script.js', args: ['p-throttle'] },
  { title: 'bottleneck (reservoir) + axios', program: 'dist/bench/budget/peer-script.js', args: ['bottleneck'] },
] as const;

/** Runs of the peers. */
export const peerScenarios: readonly Scenario[] = [
  { ...plain, name: 'peers', title: 'one project', workers: 0 },
  {
    ...plain,
    name: 'peers-otherClients',
    title: '30 % of each window burnt by others',
    workers: 0,
    otherClients: strangersShare,
    long: true,
  },
];

/** Lengths of the sweeps whose history is counted; the last with `--long` only. */
export const historyPages = [100, 1_000, 10_000] as const;
