import { Option } from 'commander';
import type { FeedbackRecord, Piece, RecordEncoder } from '../../../feedback/files/feedback-record.ts';
import { csv, jsonLines, lines } from '../../../feedback/files/text-files.ts';
import { knownSources, knownStatuses } from '../../../feedback/rules/feedback-entry.ts';
import { counted, sizeText } from '../../../rules/text.ts';
import {
  type CommandContext,
  type CommandFile,
  type LiveView,
  loadContextConfig,
  usageFailure,
} from '../../context.ts';
import {
  addOutAndDates,
  anyOf,
  type FilterFlags,
  findProjects,
  formulaSafeHelp,
  projectHelp,
  recordFilter,
  unmetValues,
} from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { keepHeapLean } from '../../parts.ts';
import { isToStdout, reportOut, stdoutName, writeOut } from '../../terminal/files.ts';

const formats = ['jsonl', 'csv', 'parquet'] as const;
type Format = (typeof formats)[number];

export default {
  export: (command, run) => {
    command
      .argument('[project]', `${projectHelp}; default: all`)
      .addOption(
        new Option(
          '--format <format>',
          'one JSON object per line, CSV (RFC 4180) or Parquet; default: by the ending of --out',
        ).choices(formats),
      );
    addOutAndDates(command)
      .option('--source <list>', anyOf(knownSources))
      .option('--status <list>', anyOf(knownStatuses))
      .option('--include-deleted', 'also entries that the service no longer has')
      .option('--formula-safe', formulaSafeHelp)
      .action(run(exportFeedback));
  },
} satisfies CommandFile;

/** The rows encoded so far, by project, and the sources and statuses in them. */
class Tally {
  /** The projects so far, the current one last. */
  readonly projects: { org: string; project: string; rows: number }[] = [];
  readonly met = { sources: new Set<string>(), statuses: new Set<string>() };

  get rows(): number {
    return this.projects.reduce((sum, { rows }) => sum + rows, 0);
  }
}

/** The records of projects, project by project, as pieces of a file. The tally is up to date whenever a piece is yielded. */
async function* recordPieces(
  projects: readonly { org: string; project: string }[],
  read: (project: { org: string; project: string }) => AsyncIterable<FeedbackRecord>,
  encoder: RecordEncoder,
  tally: Tally,
): AsyncGenerator<Piece, void, undefined> {
  for (const { org, project } of projects) {
    const counted = { org, project, rows: 0 };
    tally.projects.push(counted);
    for await (const record of read(counted)) {
      counted.rows += 1;
      tally.met.sources.add(record.source);
      tally.met.statuses.add(record.status);
      const piece = encoder.add(record);
      if (piece !== null) yield piece;
    }
  }
  const last = encoder.end();
  if (last.length > 0) yield last;
}

interface ExportFlags extends FilterFlags {
  format?: Format;
  out: string;
  formulaSafe?: boolean;
}

/** Entries between two lines of progress. */
const shownEvery = 100_000;

export async function exportFeedback(
  context: CommandContext,
  name: string | undefined,
  flags: ExportFlags,
): Promise<void> {
  const { output } = context;
  const format = flags.format ?? formats.find((one) => flags.out.endsWith(`.${one}`));
  if (format === undefined)
    throw usageFailure("missing option '--format'", `--out ends in none of .${formats.join(', .')}`);
  if (isToStdout(flags.out, output) && format === 'parquet' && output.toTerminal) {
    throw usageFailure(
      '--out - would write Parquet, which is binary, to a terminal',
      'name a file, or redirect stdout',
    );
  }
  if (flags.formulaSafe && format !== 'csv') throw usageFailure('--formula-safe works only with --format csv');
  const filter = recordFilter(flags);
  const config = await loadContextConfig(context);
  const projects = findProjects(config, name);
  const encoder = await encoderOf(format, flags.formulaSafe);
  return withFeedbackStore(config, async (store) => {
    keepHeapLean();
    const tally = new Tally();
    const byDate = filter.from !== undefined || filter.to !== undefined;
    const undated = byDate
      ? await Promise.all(projects.map((project) => store.countUndated({ ...project, ...filter })))
      : [];
    const pieces = recordPieces(projects, (project) => store.entryRecords({ ...project, ...filter }), encoder, tally);
    const bytes = await writeShowing(context, flags.out, pieces, tally);
    if (bytes === null) return;
    for (const warning of unmetValues(filter, tally.met)) output.warn(warning);
    const document = {
      out: flags.out,
      format,
      rows: tally.rows,
      bytes,
      undatedLeftOut: undated.reduce((sum, count) => sum + count, 0),
      projects: tally.projects,
    };
    reportOut(output, flags.out, document, summaryOf(document));
  });
}

async function encoderOf(format: Format, formulaSafe: boolean | undefined): Promise<RecordEncoder> {
  // The other formats do without its library.
  if (format === 'parquet') return (await import('../../../feedback/files/parquet-file.ts')).parquet();
  return lines(format === 'jsonl' ? jsonLines : csv({ formulaSafe: formulaSafe === true }));
}

/** Like `writeOut`, and shows progress unless the entries go to stdout. */
async function writeShowing(
  context: CommandContext,
  out: string,
  pieces: AsyncIterable<Piece>,
  tally: Tally,
): Promise<number | null> {
  if (out === stdoutName) return writeOut(context, out, pieces);
  const shown = async function* (live: LiveView): AsyncGenerator<Piece, void, undefined> {
    for await (const piece of pieces) {
      yield piece;
      const step = Math.floor(tally.rows / shownEvery);
      if (step > 0) live.show('feedback', { key: `${step}`, text: counted(step * shownEvery, 'entry', 'entries') });
    }
  };
  return context.output.showing((live) => writeOut(context, out, shown(live)));
}

function summaryOf(result: {
  out: string;
  rows: number;
  bytes: number;
  undatedLeftOut: number;
  projects: object[];
}): string {
  const { out, rows, bytes, undatedLeftOut, projects } = result;
  const of = projects.length === 1 ? '' : ` of ${projects.length} projects`;
  const leftOut = undatedLeftOut === 0 ? '' : `; ${undatedLeftOut} without a date left out`;
  return `${out === stdoutName ? 'stdout' : out}: ${counted(rows, 'entry', 'entries')}${of}, ${sizeText(bytes)}${leftOut}`;
}
