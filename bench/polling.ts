import { blindShapes, figures, followMany, readableShapes, type Shape } from './polling-simulation.ts';

const minute = 60_000;
const jobs = 1_000;
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

/** The table of DESIGN §8 "polling" as Markdown: the cadence against a loop that asks every 10 s, in virtual time. */
export function pollingTable(): string {
  return [
    `Polling: \`npm run build && node dist/bench/polling.js\`, ${jobs} jobs a row, durations even on a logarithmic scale,`,
    `seed ${seed}. "fewer" is the number of polls of a loop every 10 s over ours; "over" is the 95th percentile of the`,
    'lateness less what is allowed (readable: 10 s + 2 %; none: 10 s + 5 % of the duration): met when it is not positive.',
    '',
    '| progress | duration | most polls | fewer | p95 late, s | worst late, s | over, s |',
    '|---|---|---|---|---|---|---|',
    ...Object.entries(readableShapes).flatMap(([name, shape]) => rows(name, shape, 0.02)),
    ...Object.entries(blindShapes).flatMap(([name, shape]) => rows(name, shape, 0.05)),
    '',
  ].join('\n');
}

function rows(name: string, shape: Shape, share: number): string[] {
  return classes.map(([durations, from, to]) => {
    const found = figures(followMany(shape, from, to, jobs, seed), (durationMs) => 10_000 + share * durationMs);
    const cells = [
      name,
      durations,
      found.mostPolls,
      found.fewer.toFixed(1),
      seconds(found.p95LatenessMs),
      seconds(found.worstLatenessMs),
      seconds(found.p95OverAllowedMs),
    ];
    return `| ${cells.join(' | ')} |`;
  });
}

if (import.meta.filename === process.argv[1]) process.stdout.write(pollingTable());
