import { machineFacts } from '../tools/machine-facts.ts';
import type { ChangesFigures } from './changes-figures.ts';
import { type ExportMemory, exportFormats } from './export-memory.ts';
import type { WorkerMemory } from './worker-memory.ts';

interface SyncReport {
  command: string;
  date: Date;
  changes: readonly ChangesFigures[];
  memory: readonly WorkerMemory[];
  exports: readonly ExportMemory[];
}

/** What bench/README.md allows. */
const allowed = { changesRequests: 45, workerMb: 60 } as const;

/** The whole report as Markdown. */
export function syncReport(report: SyncReport): string {
  const { command, date, changes, memory, exports } = report;
  return [
    '# Changes, memory, exports (bench/README.md)',
    '',
    `\`${command}\`, ${date.toISOString().slice(0, 10)}.`,
    `${machineFacts()}.`,
    'Everything runs on loopback of one machine that other programs use too; one run a cell, one after the other. MB are',
    'millions of bytes.',
    '',
    ...(changes.length > 0 ? changesPart(changes) : []),
    ...(memory.length > 0 ? memoryPart(memory) : []),
    ...(exports.length > 0 ? exportsPart(exports) : []),
  ].join('\n');
}

function changesPart(rows: readonly ChangesFigures[]): string[] {
  return [
    '## Changes',
    '',
    'Entries over 400 days, swept once; then changes of status (open to closed, closed to open, open to open) among the last',
    "30 days' entries and ten anywhere, and new entries. Requests by the log of the sandbox; a worker, Temporal's dev server",
    'and the sandbox are processes of their own, and the budget never makes a pass wait. The plain scripts held everything',
    `before. Allowed to docferry: ${allowed.changesRequests} requests for 25,000 entries of which 3 % are open, and never more than everything again.`,
    '',
    '| entries | open | way | requests | changes seen | new seen |',
    '|---|---|---|---|---|---|',
    ...rows.flatMap(({ entries, openShare, changes, added, ways }) =>
      ways.map(({ way, requests, changesSeen, newSeen }) =>
        line([
          whole(entries),
          `${openShare * 100} %`,
          way,
          whole(requests),
          `${changesSeen} of ${changes}`,
          `${newSeen} of ${added}`,
        ]),
      ),
    ),
    '',
  ];
}

function memoryPart(rows: readonly WorkerMemory[]): string[] {
  return [
    '## Memory of a worker',
    '',
    'Resident memory of a worker process by /proc: ten seconds after it was ready, and at most during a sweep that never',
    `waits for the budget. Allowed: ${allowed.workerMb} MB over idle for 100,000 entries.`,
    '',
    '| store | entries | idle, MB | peak, MB | over idle, MB | s |',
    '|---|---|---|---|---|---|',
    ...rows.map(({ store, entries, idle, peak, seconds }) =>
      line([store, whole(entries), mb(idle), mb(peak), mb(peak - idle), seconds.toFixed(0)]),
    ),
    '',
  ];
}

function exportsPart(rows: readonly ExportMemory[]): string[] {
  return [
    '## Exports',
    '',
    'Peak of resident memory of `feedback export`, each a process of its own, over that of an export of a project without',
    'entries; the table was filled by SQL.',
    '',
    '| store | entries | format | over idle, MB | peak, MB | s | file, MB |',
    '|---|---|---|---|---|---|---|',
    ...rows.flatMap(({ store, idle, figures }) => [
      ...exportFormats.map((format) => line([store, '0', format, '0', mb(idle[format]), '', ''])),
      ...figures.map(({ entries, format, peak, seconds, bytes }) =>
        line([store, whole(entries), format, mb(peak - idle[format]), mb(peak), seconds.toFixed(1), mb(bytes)]),
      ),
    ]),
    '',
  ];
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function whole(number: number): string {
  return number.toLocaleString('en-US');
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
}
