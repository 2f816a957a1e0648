import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type BudgetBenchOptions, benchOptions } from './budget-options.ts';
import { type Measured, runPeer, runScenario } from './budget-run.ts';
import { historyPages, peerScenarios, peers, type Scenario, scenarios } from './budget-scenarios.ts';
import type { Stage } from './budget-stage.ts';
import { budgetReport, type HistoryMeasured, type PeerMeasured } from './budget-table.ts';
import { benchWaiters } from './budget-waiters.ts';

const args = process.argv.slice(2);
const options = benchOptions(args);
const known = [...scenarios, ...peerScenarios].map(({ name }) => name).concat('history');
const unknown = options.only?.filter((name) => !known.includes(name)) ?? [];
if (unknown.length > 0) throw new Error(`--only held ${unknown.join(', ')}: known are ${known.join(', ')}`);

let latest: Promise<Stage> | undefined;
const track = (stage: Promise<Stage>) => {
  latest = stage;
};
const interrupted = async () => {
  await latest?.then((stage) => stage.stop()).catch(() => {});
  process.exit(130);
};
process.once('SIGINT', () => void interrupted());
process.once('SIGTERM', () => void interrupted());

if (options.waiters) {
  process.stdout.write(await benchWaiters(options.out, track));
  process.exit();
}

const wanted = ({ name, long }: Pick<Scenario, 'name' | 'long'>): boolean =>
  options.only ? options.only.includes(name) : options.long || !long;
const say = (text: string) => process.stderr.write(`${text}\n`);

const measured: Measured[] = [];
const peersMeasured: PeerMeasured[] = [];
const histories: HistoryMeasured[] = [];

for (const scenario of scenarios.filter(wanted)) {
  say(`${scenario.name}: ${scenario.title} …`);
  measured.push(await runScenario(scenario, options, track));
  await save();
}
for (const scenario of peerScenarios.filter(wanted)) {
  for (const peer of peers) {
    say(`${scenario.name}: ${peer.title} …`);
    const figures = await runPeer(peer, scenario, options, track);
    peersMeasured.push({ scenario: scenario.title, title: peer.title, figures });
    await save();
  }
}
if (wanted({ name: 'history', long: false })) {
  for (const pages of historyPages.filter((pages) => pages < 10_000 || options.long)) {
    say(`history: ${pages} pages …`);
    histories.push(await countHistory(pages));
    await save();
  }
}

process.stdout.write(await save());

/** Writes what is measured so far: a run takes long, and the last part may fail. */
async function save(): Promise<string> {
  const command = ['npm run bench:budget', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  const report = budgetReport({ command, date: new Date(), options, measured, peers: peersMeasured, histories });
  await mkdir(dirname(options.out), { recursive: true });
  await writeFile(options.out, report);
  return report;
}

/** A sweep that never waits: the limit of a short window is more than its pages take. */
async function countHistory(pages: number): Promise<HistoryMeasured> {
  const [base] = scenarios;
  if (!base) throw new Error('there is no base scenario');
  const unlimited: BudgetBenchOptions = { ...options, entries: pages * 100, requests: 10_000, windowMs: 10_000 };
  const { figures, eventsAPage } = await runScenario(base, { ...unlimited, arrivalMs: 5_000 }, track);
  return { pages, eventsAPage, seconds: figures.spanMs / 1_000 };
}
