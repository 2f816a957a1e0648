import { Option } from 'commander';
import type { Config } from '../../../config/config.ts';
import type { FeedbackRecord } from '../../../feedback/files/feedback-record.ts';
import { csv, jsonLines, lines } from '../../../feedback/files/text-files.ts';
import { knownSources, knownStatuses } from '../../../feedback/rules/feedback-entry.ts';
import {
  type DocumentAnswer,
  documentsLike,
  type EntrySelection,
  type FoundEntry,
  type FoundText,
  type FoundTotal,
  type IndexProgress,
  type SearchAnswer,
  SearchRefused,
} from '../../../feedback/search/feedback-search.ts';
import type { FeedbackStore } from '../../../feedback/store/feedback-store.ts';
import { counted, countText, pagePath } from '../../../rules/text.ts';
import {
  type CommandContext,
  type CommandFile,
  loadContextConfig,
  noSuchThing,
  type Output,
  type Paint,
  usageFailure,
} from '../../context.ts';
import {
  addSelectionFlags,
  anyOf,
  findProject,
  formulaSafeHelp,
  listLimit,
  moment,
  projectHelp,
  recordFilter,
  type SelectionFlags,
  selected,
} from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { stdoutName, writeOut } from '../../terminal/files.ts';
import { printable, tableLines, timeText } from '../../terminal/text.ts';

export default {
  search: (command, run) => {
    command
      .argument('[words...]', 'words that must all occur; without any, lists all entries that the options select')
      .option('--project <project>', `only this one: ${projectHelp}`);
    addSelectionFlags(command, 'projects')
      .option('--source <list>', anyOf(knownSources))
      .option('--status <list>', anyOf(knownStatuses))
      .addOption(
        new Option('--helpful <answer>', 'whether the page helped; none: nobody was asked').choices([
          'yes',
          'no',
          'none',
        ]),
      )
      .option('--with-words', 'only entries with a comment or code')
      .option('--document <page>', 'only about this page, by path or address')
      .option('--since <when>', 'created from this ISO 8601 date or date-time on, or within e.g. 30d')
      .option('--until <when>', 'created before this')
      .option('--new-since <when>', 'only entries first seen after this')
      .option('--limit <n>', 'how many to show, 20 by default, at most 200; with --format all by default', listLimit)
      .option('--after <place>', 'continue after the `after` of an earlier answer')
      .option('--by-document', 'count the newest 10,000 hits by page instead')
      .addOption(new Option('--format <format>', 'write whole records to stdout').choices(['csv', 'jsonl']))
      .option('--formula-safe', formulaSafeHelp)
      .option('--contacts', 'show contacts and, in records, unknown fields')
      .addHelpText(
        'after',
        "\nCase and accents do not matter. Words side by side: '\"two words\"'. A beginning: 'confi*'. Chinese, Japanese, Korean" +
          '\nand Thai are found without blanks. Punctuation is ignored: foo_bar() finds foo and bar side by side.',
      )
      .action(run(searchFeedback));
  },
} satisfies CommandFile;

interface SearchFlags extends SelectionFlags {
  project?: string;
  source?: string;
  status?: string;
  helpful?: 'yes' | 'no' | 'none';
  withWords?: boolean;
  document?: string;
  since?: string;
  until?: string;
  newSince?: string;
}

/** What the command line asks to find. Throws a usage failure, or that there is no such project. */
function searchSelection(config: Config, words: readonly string[], flags: SearchFlags): EntrySelection {
  const { org, match, project, source, status, helpful, withWords, document, since, until, newSince } = flags;
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
    ...(withWords === true && { withWords }),
    ...(document !== undefined && { document }),
    ...(since !== undefined && { since: moment('--since')(since) }),
    ...(until !== undefined && { until: moment('--until')(until) }),
    ...(newSince !== undefined && { firstSeenAfter: moment('--new-since')(newSince) }),
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
    return { projects: [findProject(config, project).project] };
  }
  if (org === undefined && match === undefined) return {};
  const { projects } = selected(config, { ...(org !== undefined && { org }), ...(match !== undefined && { match }) });
  if (projects.length > 0) return { projects: projects.map((found) => found.project) };
  throw noSuchThing('UnknownProject', 'no configured project matches', 'see `docferry feedback status`');
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
async function searchFeedback(
  context: CommandContext,
  words: readonly string[],
  flags: FeedbackSearchFlags,
): Promise<void> {
  const { output } = context;
  requireTogether(flags, output);
  const config = await loadContextConfig(context);
  const selection = searchSelection(config, words, flags);
  const { limit = usualLimit, after, contacts = false } = flags;
  const query = { ...selection, limit, contacts, ...(after !== undefined && { after }) };
  try {
    return await withFeedbackStore(config, async (store) => {
      if (flags.format !== undefined) {
        noteIndex(output, await store.indexProgress());
        const encoder = lines(flags.format === 'csv' ? csv({ formulaSafe: flags.formulaSafe === true }) : jsonLines);
        await writeOut(
          context,
          stdoutName,
          pieces(store.findRecords({ ...selection, contacts }), encoder, flags.limit),
        );
        return;
      }
      const answer = flags.byDocument ? await store.findDocuments(query) : await store.findEntries(query);
      noteIndex(output, answer.index);
      const isEmpty = ('documents' in answer ? answer.documents : answer.entries).length === 0;
      const text = 'documents' in answer ? documentsText(answer, output) : entriesText(answer, output);
      output.result(answer, isEmpty ? await nothing(store, selection) : text);
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

async function nothing(store: FeedbackStore, { document, ...rest }: EntrySelection): Promise<string> {
  const { words } = rest;
  if (words !== undefined) return 'no entry has these words; a word may end in * for its beginning';
  if (document === undefined) return 'no entry matches these options';
  const named = (path: string) => printable(pagePath(path));
  const like = documentsLike(await store.findDocuments({ ...rest, limit: 200 }), document).map((one) =>
    named(one.document),
  );
  return `no entry is about ${named(document)}${like.length === 0 ? '' : `; did you mean ${like.join(' or ')}?`}`;
}

/** Characters of a text in a line, and before the first word found. */
const longestOnTerminal = 120;
const longest = 300;
const before = 30;

/** Entries as a table; a terminal marks the words found. */
export function entriesText({ entries, total, after }: SearchAnswer, output: Output): string {
  const { paint, surface } = output;
  const most = output.toTerminal ? longestOnTerminal : longest;
  const withContacts = entries.some(({ contact }) => contact !== null);
  const table = tableLines(
    [
      'created (UTC)',
      'project',
      'id',
      'page',
      'source',
      'status',
      'helpful',
      ...(withContacts ? ['contact'] : []),
      'text',
    ],
    entries.map((entry) => [
      timeText(entry.createdAt),
      printable(entry.project),
      printable(entry.id),
      printable(pagePath(entry.document)),
      printable(entry.source),
      printable(entry.status),
      entry.helpful === null ? '-' : entry.helpful ? 'yes' : 'no',
      ...(withContacts ? [printable(entry.contact ?? '-')] : []),
      textOf(entry, paint, most),
    ]),
    surface.columns,
  );
  const more = after === null ? '' : `; more with --limit, or --after ${after}`;
  return `${table}\n\n${totalText(total, entries.length)}${more}`;
}

function documentsText({ documents, total, more }: DocumentAnswer, { surface }: Output): string {
  const table = tableLines(
    ['page', 'project', 'entries', 'helped', 'did not', 'latest (UTC)'],
    documents.map(({ document, project, entries, helpful, latest }) => [
      printable(pagePath(document)),
      printable(project),
      countText(entries),
      countText(helpful.yes),
      countText(helpful.no),
      timeText(latest),
    ]),
    surface.columns,
  );
  const found = `${total.isExact ? '' : 'in the newest '}${entriesOf(total.count)}${total.isExact ? ' found' : ''}`;
  return `${table}\n\n${found}${more === 0 ? '' : `; ${countText(more)} more pages with --limit`}`;
}

function totalText({ count, isExact }: FoundTotal, shown: number): string {
  return `${countText(shown)} of ${isExact ? '' : 'more than '}${entriesOf(count)}`;
}

const entriesOf = (count: number): string => counted(count, 'entry', 'entries');

/** The text that contains the hit; the comment if neither or both do. */
function textOf({ comment, code }: FoundEntry, paint: Paint, most: number): string {
  const inCode = code !== null && (comment === null || (comment.marks.length === 0 && code.marks.length > 0));
  const found = inCode ? code : comment;
  return found === null ? '' : lineOf(found, paint, most);
}

function lineOf({ text, from, length, marks }: FoundText, paint: Paint, most: number): string {
  const [first] = marks;
  const start = text.length <= most ? 0 : Math.max(0, Math.min((first?.[0] ?? 0) - before, text.length - most));
  const end = Math.min(text.length, start + most);
  const part = (a: number, b: number) =>
    onOneLine(text.slice(Math.max(a, start), Math.max(Math.max(a, start), Math.min(b, end))));
  let at = start;
  let line = from + start > 0 ? '…' : '';
  for (const [a, b] of marks) {
    line += part(at, a) + paint.bold(paint.yellow(part(a, b)));
    at = Math.max(at, b);
  }
  return line + part(at, end) + (from + end < length ? '…' : '');
}

function onOneLine(text: string): string {
  return printable(text.toWellFormed().replaceAll(/\s+/gu, ' '), Number.POSITIVE_INFINITY);
}
