import type { Config } from '../../../config/config.ts';
import { parseDuration } from '../../../config/field-schemas.ts';
import type { FeedbackRecord } from '../../../feedback/files/feedback-record.ts';
import { csv, jsonLines, lines } from '../../../feedback/files/text-files.ts';
import { type EntrySelection, type IndexProgress, SearchRefused } from '../../../feedback/search/feedback-search.ts';
import { isoInstant } from '../../../rules/text.ts';
import type { SelectionFlags } from '../../actor.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, noSuchThing, usageFailure } from '../../failure.ts';
import { recordFilter } from '../../flags.ts';
import { findProject, selected } from '../../selection.ts';
import { withFeedbackStore } from '../../stores.ts';
import { stdoutName, writeOut } from '../../terminal/files.ts';
import type { Output } from '../../terminal/output.ts';
import { documentsText, entriesText } from './search-text.ts';

export interface SearchFlags extends SelectionFlags {
  project?: string;
  source?: string;
  status?: string;
  helpful?: 'yes' | 'no' | 'none';
  document?: string;
  since?: string;
  until?: string;
  newSince?: string;
}

/** What the command line asks to find. Throws a usage failure, or that there is no such project. */
export function searchSelection(
  config: Config,
  words: readonly string[],
  flags: SearchFlags,
  now: Date,
): EntrySelection {
  const { org, match, project, source, status, helpful, document, since, until, newSince } = flags;
  const { sources, statuses } = recordFilter({
    ...(source !== undefined && { source }),
    ...(status !== undefined && { status }),
  });
  const text = words.join(' ').trim();
  return {
    ...(text !== '' && { words: text }),
    ...projectsOf(config, { org, match, project }),
    ...(sources !== undefined && { sources }),
    ...(statuses !== undefined && { statuses }),
    ...(helpful !== undefined && { helpful }),
    ...(document !== undefined && { document }),
    ...(since !== undefined && { since: moment('--since', since, now) }),
    ...(until !== undefined && { until: moment('--until', until, now) }),
    ...(newSince !== undefined && { firstSeenAfter: moment('--new-since', newSince, now) }),
  };
}

/** Without any of these everything in the store, also of projects that are no longer configured. */
function projectsOf(
  config: Config,
  { org, match, project }: { [Flag in 'org' | 'match' | 'project']: string | undefined },
): Pick<EntrySelection, 'projects'> {
  if (project !== undefined) {
    if (org !== undefined || match !== undefined)
      throw usageFailure('--project cannot be combined with --org or --match');
    return { projects: [findProject(config, project).project.id] };
  }
  if (org === undefined && match === undefined) return {};
  const { projects } = selected(config, { ...(org !== undefined && { org }), ...(match !== undefined && { match }) });
  if (projects.length > 0) return { projects: projects.map((found) => found.project) };
  throw noSuchThing('UnknownProject', 'no configured project matches', 'see `docferry feedback status`');
}

/** A date, or how long ago. */
function moment(flag: string, text: string, now: Date): string {
  const ago = parseDuration(text);
  const ms = ago === null ? isoInstant(text) : now.getTime() - ago;
  if (ms !== null) return new Date(ms).toISOString();
  throw usageFailure(
    `${flag} is ${JSON.stringify(text)}: it must be an ISO 8601 date or date-time, or how long ago: 30d`,
  );
}

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
