import {
  blindShapes,
  figures,
  followMany,
  followSites,
  type Outcome,
  readableShapes,
  type Shape,
  type Spread,
} from './polling-simulation.ts';

const minute = 60_000;
const jobs = 1_000;
/** Sites a row of those that have been exported before: each takes eleven jobs. */
const sites = 300;
const seed = 7;

const classes: readonly (readonly [name: string, from: number, to: number])[] = [
  ['20 to 60 s', 20_000, minute],
  ['1 to 5 min', minute, 5 * minute],
  ['5 to 20 min', 5 * minute, 20 * minute],
  ['20 to 60 min', 20 * minute, 60 * minute],
  ['1 to 4 h', 60 * minute, 240 * minute],
  ['20 s to 4 h', 20_000, 240 * minute],
];

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** The table of bench/README.md "polling" as Markdown: the cadence against a loop that asks every 10 s, in virtual time. */
export function pollingTable(): string {
  return [
    `Polling: \`npm run build && node dist/bench/bundle/polling.js\`, ${jobs} jobs a row, durations even on a logarithmic scale,`,
    `seed ${seed}. "fewer" is the number of polls of a loop every 10 s over ours; "over" is the 95th percentile of the`,
    'lateness less what is allowed (readable: 10 s + 2 %; none: 10 s + 5 % of the duration): met when it is not positive.',
    '',
    '| progress | duration | most polls | fewer | p95 late, s | worst late, s | over, s |',
    '|---|---|---|---|---|---|---|',
    ...Object.entries(readableShapes).flatMap(([name, shape]) => rows(name, shape, 0.02)),
    ...Object.entries(blindShapes).flatMap(([name, shape]) => rows(name, shape, 0.05)),
    '',
    `The same for ${sites} sites a row that have been exported ten times before: polls learn from what those jobs took.`,
    '"differ by" is the standard deviation of the durations of one site; "or twice, or half" means that one job in ten takes',
    'something between half and twice as long instead.',
    '',
    '| progress | duration | differ by | most polls | fewer | p95 late, s | worst late, s | over, s |',
    '|---|---|---|---|---|---|---|---|',
    ...learntShapes.flatMap(([name, shape, share]) => learntRows(name, shape, share)),
    '',
  ].join('\n');
}

const learntShapes: readonly (readonly [name: string, shape: Shape, share: number])[] = [
  ...Object.entries(readableShapes)
    .filter(([name]) => /linear, whole|cube|queued/.test(name))
    .map(([name, shape]) => [name, shape, 0.02] as const),
  ...Object.entries(blindShapes).map(([name, shape]) => [name, shape, 0.05] as const),
];

const spreads: readonly (readonly [name: string, spread: Spread])[] = [
  ['5 %', { usual: 0.05, outOfTheOrdinary: 0 }],
  ['10 %', { usual: 0.1, outOfTheOrdinary: 0 }],
  ['20 %', { usual: 0.2, outOfTheOrdinary: 0 }],
  ['10 %, or twice, or half', { usual: 0.1, outOfTheOrdinary: 0.1 }],
];

function rows(name: string, shape: Shape, share: number): string[] {
  return classes.map(([durations, from, to]) => {
    return row([name, durations], followMany(shape, from, to, jobs, seed), share);
  });
}

function learntRows(name: string, shape: Shape, share: number): string[] {
  return classes.flatMap(([durations, from, to]) =>
    spreads.map(([differ, spread]) =>
      row([name, durations, differ], followSites(shape, { from, to }, spread, sites, seed), share),
    ),
  );
}

function row(names: readonly string[], outcomes: readonly Outcome[], share: number): string {
  const found = figures(outcomes, (durationMs) => 10_000 + share * durationMs);
  const cells = [
    ...names,
    found.mostPolls,
    found.fewer.toFixed(1),
    seconds(found.p95LatenessMs),
    seconds(found.worstLatenessMs),
    seconds(found.p95OverAllowedMs),
  ];
  return `| ${cells.join(' | ')} |`;
}

if (import.meta.filename === process.argv[1]) process.stdout.write(pollingTable());
