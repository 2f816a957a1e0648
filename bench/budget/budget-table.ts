import { machineFacts } from '../tools/machine-facts.ts';
import type { Figures } from './budget-figures.ts';
import type { BudgetBenchOptions } from './budget-options.ts';
import type { Measured } from './budget-run.ts';

export interface PeerMeasured {
  scenario: string;
  title: string;
  figures: Figures;
}

export interface HistoryMeasured {
  pages: number;
  eventsAPage: number;
  seconds: number;
}

interface Report {
  command: string;
  date: Date;
  options: BudgetBenchOptions;
  measured: readonly Measured[];
  peers: readonly PeerMeasured[];
  histories: readonly HistoryMeasured[];
}

const hourMs = 3_600_000;
/** What bench/README.md allows. */
const allowed = { edgeMs: 1_500, pageMs: 50 } as const;

/** The whole report as Markdown. */
export function budgetReport(report: Report): string {
  const { measured, peers, histories } = report;
  const kills = measured.filter(({ kills }) => kills !== null);
  const otherClients = measured.filter(({ scenario }) => scenario.otherClients > 0);
  return [
    ...heading(report),
    ...(measured.length > 0 ? budgetRows(report) : []),
    ...(peers.length > 0 ? peerRows(report) : []),
    ...(kills.length > 0 ? killRows(kills) : []),
    ...(otherClients.length > 0 || peers.length > 0 ? strangerRows(report) : []),
    ...(histories.length > 0 ? historyRows(histories) : []),
  ].join('\n');
}

function heading({ command, date, options: { requests, windowMs, arrivalMs, entries } }: Report): string[] {
  return [
    '# Budget, kills, otherClients, history (bench/README.md)',
    '',
    `\`${command}\`, ${date.toISOString().slice(0, 10)}. ${machineFacts()};`,
    "Temporal's dev server, the sandbox and every worker are processes of their own on loopback. One run a cell.",
    '',
    `Limit ${requests} requests in any ${windowMs / 1_000} s, D ${arrivalMs / 1_000} s, ${entries} entries in pages of 100.`,
    'A cell is: time from the first to the last answered request / physical minimum · requests · 429s · most requests (all',
    'sources, refused ones included) in any sliding window, all by the log of the sandbox. The physical minimum is the whole',
    'windows that the limit makes the pages take; extra requests after injected faults count as pages.',
    '',
  ];
}

function budgetRows({ measured, options }: Report): string[] {
  return [
    '## Budget',
    '',
    'Late: over the physical minimum. Allowed: 1.5 s a window edge + 50 ms a page of the last window. Edges: how late the',
    'first request after each edge was. Page: the last window by its pages. Scaled: the same lateness where the window is an',
    'hour.',
    '',
    '| run | docferry | late, s | allowed, s | edges, s | page, ms | events a page | lost, doubled | scaled to 3,600 s |',
    '|---|---|---|---|---|---|---|---|---|',
    ...measured.map((row) => budgetRow(row, options)),
    '',
  ];
}

function budgetRow(row: Measured, { windowMs }: BudgetBenchOptions): string {
  const { scenario, figures, eventsAPage, lost, doubled, serverAwayMs } = row;
  const { spanMs, minimumMs, windowEdges } = figures;
  const lateMs = spanMs - minimumMs;
  // Where slots were forfeited, bursts are smaller than the limit and cannot be told apart.
  const { edgesLateMs, lastWindow } =
    scenario.disturbance === 'kills' ? { edgesLateMs: [], lastWindow: null } : figures;
  return line([
    `${scenario.title}${serverAwayMs === null ? '' : `, away for ${seconds(serverAwayMs)} s`} (\`${scenario.name}\`)`,
    cell(figures),
    seconds(lateMs),
    lastWindow ? seconds(windowEdges * allowed.edgeMs + lastWindow.pages * allowed.pageMs) : '',
    edgesLateMs.map(seconds).join(', '),
    lastWindow ? (lastWindow.ms / lastWindow.pages).toFixed(0) : '',
    eventsAPage.toFixed(2),
    `${lost}, ${doubled}`,
    lastWindow ? scaled(figures, windowMs) : '',
  ]);
}

/** Edges and pages cost the same in a longer window, except that slots are held a ten-thousandth of it longer. */
function scaled({ spanMs, minimumMs, windowEdges }: Figures, windowMs: number): string {
  const slack = (length: number) => Math.max(20, length / 10_000);
  const lateMs = spanMs - minimumMs + windowEdges * (slack(hourMs) - slack(windowMs));
  const least = windowEdges * hourMs;
  return least === 0 ? '' : `${((least + lateMs) / least).toFixed(5)} (${seconds(lateMs)} s late)`;
}

function peerRows({ measured, peers }: Report): string[] {
  const ours = measured.filter(({ scenario }) => scenario.name === 'base' || scenario.name === 'otherClients');
  const runs = [...new Set(peers.map(({ scenario }) => scenario))];
  const cellsOf = (run: string) => peers.filter(({ scenario }) => scenario === run);
  return [
    '## Beside the plain ways, in the same run',
    '',
    ...runs.flatMap((run) => [
      `${run}:`,
      '',
      '| | cell | late, s |',
      '|---|---|---|',
      ...ours
        .filter(({ scenario }) => scenario.otherClients > 0 === run.includes('others'))
        .map(({ figures }) => line(['docferry', cell(figures), seconds(figures.spanMs - figures.minimumMs)])),
      ...cellsOf(run).map(({ title, figures }) =>
        line([title, cell(figures), seconds(figures.spanMs - figures.minimumMs)]),
      ),
      '',
    ]),
  ];
}

function killRows(rows: readonly Measured[]): string[] {
  return [
    '## Kills',
    '',
    'Stalled: from a kill, or from the first slot that was free by the ledger of the budget after it, to the next request.',
    'Forfeited: slots held to their end that were never a request. The slots of an unreported lease, used or not, are held',
    'until the end of the lease + D + a window: that is what a kill costs in time.',
    '',
    '| kills | of them at work | pages asked again | stalled after each, s | leases unreported | slots forfeited | lost, doubled |',
    '|---|---|---|---|---|---|---|',
    ...rows.flatMap(({ kills, forfeited, lost, doubled }) =>
      kills
        ? [
            line([
              `${kills.kills}`,
              `${kills.atWork}`,
              `${kills.pagesAgain}`,
              kills.stalledMs.map(seconds).join(', '),
              `${kills.unreportedLeases}`,
              `${forfeited}`,
              `${lost}, ${doubled}`,
            ]),
          ]
        : [],
    ),
    '',
  ];
}

function strangerRows({ measured, peers }: Report): string[] {
  const rows = [
    ...measured
      .filter(({ scenario }) => scenario.otherClients > 0)
      .map(({ scenario, figures }) => ({ title: `docferry, ${scenario.title}`, figures })),
    ...peers.filter(({ figures }) => figures.otherClients.requests > 0),
  ];
  if (rows.length === 0) return [];
  return [
    '## Strangers',
    '',
    'Another program asks evenly, from a window before our first request on, and asks once: a 429 is a request displaced.',
    'First burst: those displaced within a window of our first request.',
    '',
    '| | its requests | displaced | of them by the first burst | our 429s |',
    '|---|---|---|---|---|',
    ...rows.map(({ title, figures: { otherClients, throttled } }) =>
      line([
        title,
        `${otherClients.requests}`,
        `${otherClients.displaced}`,
        `${otherClients.displacedByFirstBurst}`,
        `${throttled}`,
      ]),
    ),
    '',
  ];
}

function historyRows(rows: readonly HistoryMeasured[]): string[] {
  return [
    '## History',
    '',
    'Events of all runs of the sweep and of the budget, by pages; the limit is so large that nothing waits.',
    '',
    '| pages | events a page | s |',
    '|---|---|---|',
    ...rows.map(({ pages, eventsAPage, seconds: taken }) =>
      line([`${pages}`, eventsAPage.toFixed(2), taken.toFixed(0)]),
    ),
    '',
  ];
}

function cell({ spanMs, minimumMs, requests, throttled, mostInWindow }: Figures): string {
  const ratio = minimumMs === 0 ? '' : `${(spanMs / minimumMs).toFixed(3)} · `;
  return `${ratio}${requests} · ${throttled} · ${mostInWindow}`;
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}
