import type { PassKind } from '../../../feedback/rules/pass-bounds.ts';

/** An interval to write into docferry.yaml. */
interface IntervalChange {
  project: string;
  pass: PassKind;
  everyMs: number;
  jitterMs: number;
}

const units: readonly [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** A duration as docferry.yaml takes it, in the greatest unit that divides it: `90m`, `7d`. */
export function everyText(ms: number): string {
  const [name, size] = units.find(([, unit]) => ms % unit === 0) ?? ['ms', 1];
  return `${ms / size}${name}`;
}

/** The part of docferry.yaml that holds these intervals. */
export function intervalLines(org: string, changes: readonly IntervalChange[]): string {
  const projects = [...new Set(changes.map(({ project }) => project))];
  return [
    'organizations:',
    `  - id: ${scalar(org)}`,
    '    projects:',
    ...projects.flatMap((project) => [
      `      - id: ${scalar(project)}`,
      ...changes
        .filter((change) => change.project === project)
        .map(({ pass, everyMs, jitterMs }) => {
          const jitter = jitterMs > 0 ? `, jitter: ${everyText(jitterMs)}` : '';
          return `        ${pass}: { every: ${everyText(everyMs)}${jitter} }`;
        }),
    ]),
  ].join('\n');
}

/** Ids such as `7` or `null` would not be text. */
function scalar(id: string): string {
  return /^[A-Za-z]/.test(id) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(id) ? id : JSON.stringify(id);
}
