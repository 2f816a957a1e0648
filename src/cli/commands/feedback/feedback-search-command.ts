import { csv } from '../../../feedback/files/csv-file.ts';
import type { FeedbackRecord } from '../../../feedback/files/feedback-record.ts';
import { jsonLines } from '../../../feedback/files/jsonl-file.ts';
import { lines } from '../../../feedback/files/line-pieces.ts';
import { type EntrySelection, type IndexProgress, SearchRefused } from '../../../feedback/search/feedback-search.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { usageFailure } from '../../cli-failure.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { withFeedbackStore } from '../../feedback-store-of.ts';
import type { Output } from '../../terminal/output.ts';
import { stdoutName, writeOut } from '../../terminal/write-out.ts';
import { documentsText, entriesText } from './search-text.ts';
import { type SearchFlags, searchSelection } from './search-selection.ts';

interface FeedbackSearchFlags extends SearchFlags {
  limit?: number;
  after?: string;
  byDocument?: boolean;
  format?: 'csv' | 'jsonl';
  formulaSafe?: boolean;
  contacts?: boolean;
}

const usualLimit = 20;

/** Finds what people wrote, from the store: it needs no Temporal. */
export default async function searchFeedback(
  context: CommandContext,
  words: readonly string[],
  flags: FeedbackSearchFlags,
): Promise<ExitCode> {
  const { output } = context;
  requireTogether(flags, output);
  const config = await loadContextConfig(context);
  const selection = searchSelection(config, words, flags, new Date());
  const { limit = usualLimit, after, contacts = false } = flags;
  const query = { ...selection, limit, contacts, ...(after !== undefined && { after }) };
  try {
    return await withFeedbackStore(config, async (store) => {
      if (flags.format !== undefined) {
        const encoder = lines(flags.format === 'csv' ? csv({ formulaSafe: flags.formulaSafe === true }) : jsonLines);
        await writeOut(
          context,
          stdoutName,
          pieces(store.findRecords({ ...selection, contacts }), encoder, flags.limit),
        );
      } else if (flags.byDocument) {
        const answer = await store.findDocuments(query);
        noteIndex(output, answer.index);
        output.result(answer, answer.documents.length === 0 ? nothing(selection) : documentsText(answer, output));
      } else {
        const answer = await store.findEntries(query);
        noteIndex(output, answer.index);
        output.result(answer, answer.entries.length === 0 ? nothing(selection) : entriesText(answer, output));
      }
      return exitCodes.done;
    });
  } catch (error) {
    if (error instanceof SearchRefused) throw usageFailure(error.message, error.hint);
    throw error;
  }
}

function requireTogether({ format, byDocument, formulaSafe, after }: FeedbackSearchFlags, output: Output): void {
  if (format !== undefined && output.json) throw usageFailure('--format and --json would both write to stdout');
  if (format !== undefined && byDocument) throw usageFailure('--format writes entries; --by-document counts them');
  if (formulaSafe && format !== 'csv') throw usageFailure('--formula-safe works only with --format csv');
  if (after !== undefined && (format !== undefined || byDocument)) {
    throw usageFailure('--after works only with a list of entries');
  }
}

async function* pieces(
  records: AsyncIterable<FeedbackRecord>,
  encoder: ReturnType<typeof lines>,
  most = Number.POSITIVE_INFINITY,
) {
  let left = most;
  for await (const record of records) {
    const piece = encoder.add(record);
    if (piece !== null) yield piece;
    left -= 1;
    if (left === 0) break;
  }
  yield encoder.end();
}

function noteIndex(output: Output, { complete, percent }: IndexProgress): void {
  if (complete) return;
  output.warn(`the index covers ${percent} % of the entries so far: a worker is adding the rest; search again later`);
}

function nothing({ words }: EntrySelection): string {
  return words === undefined
    ? 'no entry is like that'
    : 'no entry has these words; a word may end in * for its beginning';
}
