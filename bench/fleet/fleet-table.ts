import { machineFacts } from '../tools/machine-facts.ts';
import type { FleetRun, Load } from './fleet-run.ts';
import type { FleetSize } from './fleet-size.ts';

const megabyte = 2 ** 20;

/** A part of the page for each load that was measured, by its title. */
export function fleetParts(command: string, size: FleetSize, runs: readonly FleetRun[]): Map<string, string> {
  const parts = new Map<string, string>();
  for (const load of ['exports', 'syncs'] as const) {
    const ofLoad = runs.filter((run) => run.load === load);
    if (ofLoad.length === 0) continue;
    const made = `\`${command}\`, ${new Date().toISOString().slice(0, 10)}; ${machineFacts()}.`;
    parts.set(titleOf(load, size), [made, '', ...tableOf(ofLoad), '', shortly(load, ofLoad)].join('\n'));
  }
  return parts;
}

export function fleetPage(parts: ReadonlyMap<string, string>): string {
  return [
    '# Fleet: everything at once',
    '',
    'Dev server, sandbox and workers are processes of their own on the same cores. *bare* is a workflow that asks the',
    'service for the same, an activity each, and does nothing else. Times are from the first start to the last end by the',
    'server. The figures to reach are in bench/README.md.',
    ...[...parts].flatMap(([title, text]) => ['', `## ${title}`, '', text]),
    '',
  ].join('\n');
}

/** The parts of a page. */
export function partsOf(page: string): Map<string, string> {
  const parts = page.split(/^## /m).slice(1);
  return new Map(
    parts.map((part) => {
      const [title = '', ...lines] = part.split('\n');
      return [title, lines.join('\n').trim()];
    }),
  );
}

const shortMark = 'In short: ';

/** One worker of docferry beside one of *bare*, as the row of bench/README.md says it. */
function shortly(load: Load, runs: readonly FleetRun[]): string {
  const ofProgram = (name: string) => runs.find(({ program, workers }) => program === name && workers === 1);
  const [ours, bare] = [ofProgram('docferry'), ofProgram('bare')];
  if (!ours || !bare) return '';
  const ratio = (ours.histories.seconds / bare.histories.seconds).toFixed(2);
  const spent = ({ usage, histories }: FleetRun) =>
    [usage.workers, usage.temporal].map((seconds) => ((seconds * 1_000) / histories.runs).toFixed(0)).join(' + ');
  return (
    `${shortMark}${ours.histories.runs} ${load === 'exports' ? 'exports' : 'sweeps'} ${ratio} ` +
    `(${spent(ours)} ms of processor each, worker and Temporal, against ${spent(bare)}), ` +
    `${(ours.usage.peak / megabyte).toFixed(0)} MiB, ${ours.histories.timedOutTasks} time-outs`
  );
}

/** bench/README.md with what the parts of these sizes say in short; as it was when they say nothing. */
export function withMeasuredFleet(readme: string, parts: ReadonlyMap<string, string>, size: FleetSize): string {
  const said = (['exports', 'syncs'] as const).flatMap((load) => {
    const [, text] = new RegExp(`^${shortMark}(.+)$`, 'm').exec(parts.get(titleOf(load, size)) ?? '') ?? [];
    return text === undefined ? [] : [text];
  });
  if (said.length === 0) return readme;
  return readme.replace(/^(\| fleet \|[^|]*\|)[^|]*\|/m, (_row, before: string) => `${before} ${said.join('; ')} |`);
}

function titleOf(load: Load, { sites, projects, organizations, entries, jobSeconds }: FleetSize): string {
  if (load === 'exports') return `${sites} exports, jobs of ${jobSeconds} s`;
  return `${projects} sweeps in ${organizations} organizations, ${entries} entries each`;
}

function tableOf(runs: readonly FleetRun[]): string[] {
  const columns = runs.map(
    ({ program, workers }) => `${program}, ${workers === 1 ? 'one worker' : `${workers} workers`}`,
  );
  const bare = runs.find(({ program }) => program === 'bare');
  const row = (name: string, value: (run: FleetRun) => string) => `| ${name} | ${runs.map(value).join(' | ')} |`;
  const each = (value: number, { histories: { runs: count } }: FleetRun) => (value / count).toFixed(1);
  return [
    `| | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---').join('|')}|`,
    row('total, s', ({ histories }) => histories.seconds.toFixed(0)),
    row('of *bare*', ({ histories }) => (bare ? (histories.seconds / bare.histories.seconds).toFixed(2) : '')),
    row('most memory of a worker, MiB', ({ usage }) => (usage.peak / megabyte).toFixed(0)),
    row('workflow tasks that timed out', ({ histories }) => `${histories.timedOutTasks}`),
    row('workflow tasks that failed', ({ histories }) => `${histories.failedTasks}`),
    row('events each', (run) => each(run.histories.events, run)),
    row('workflow tasks each', (run) => each(run.histories.workflowTasks, run)),
    row('activities each', (run) => each(run.histories.activities, run)),
    row('actions each', (run) => each(run.histories.actions, run)),
    row('processor of the workers, ms each', (run) => each(run.usage.workers * 1_000, run)),
    row('processor of Temporal, ms each', (run) => each(run.usage.temporal * 1_000, run)),
    row('processor of the service, ms each', (run) => each(run.usage.service * 1_000, run)),
    row('requests each', (run) => {
      const { analytics, export: jobs, storage } = run.requests;
      return run.load === 'syncs' ? each(analytics, run) : `${each(jobs, run)} and ${each(storage, run)} downloads`;
    }),
  ];
}
