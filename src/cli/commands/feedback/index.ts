import { type Command, InvalidArgumentError, Option } from 'commander';
import { knownSources, knownStatuses } from '../../../feedback/rules/feedback-entry.ts';
import { passOutcomes, readingKinds } from '../../../feedback/rules/pass-bounds.ts';
import { addActorFlag, addBulkFlags, addSelectionFlags } from '../../actor.ts';
import type { CallHandler } from '../../context.ts';
import { addWaitFlags, duration, listLimit } from '../../flags.ts';

const project = 'id or name of a configured project, or org/project';

const answers = ['yes', 'no', 'none'];

/** Every comment is in the page, so that it can be filtered: more would make it slow to open. */
const mostComments = 5_000;

export function addFeedbackCommands(program: Command, call: CallHandler): void {
  const feedback = program
    .command('feedback')
    .description('Sync, search, report, export and erase the feedback of projects');
  const sync = feedback
    .command('sync')
    .description("Read a project's feedback into the store, within the organization's budget")
    .argument('[project]', project)
    .addOption(
      new Option(
        '--pass <kind>',
        'what to read; default: incremental, or sweep if the project was never swept',
      ).choices(['incremental', 'review', 'sweep']),
    )
    .option('--from <date>', 'only entries from this ISO 8601 date or date-time on')
    .option('--to <date>', 'only entries before this ISO 8601 date or date-time')
    .option('--plan', 'only show what would be read and how many requests that takes; sends and starts nothing');
  addActorFlag(addBulkFlags(addWaitFlags(sync), 'projects')).action(call(() => import('./feedback-sync.ts')));
  feedback
    .command('status')
    .description('Show what is stored of the projects, what runs, and how the last passes ended')
    .argument('[project]', `${project}; default: all`)
    .action(call(() => import('./feedback-status.ts')));
  const cancel = addBulkFlags(
    feedback
      .command('cancel')
      .description('Cancel a running pass of a project; what it has read stays')
      .argument('[project]', project)
      .addOption(
        new Option('--pass <kind>', 'which pass; with several projects, all by default').choices(readingKinds),
      ),
    'projects',
  );
  addActorFlag(cancel).action(call(() => import('./feedback-cancel.ts')));
  feedback
    .command('history')
    .description('List all passes of a project that the store knows, newest first, with durations and reasons')
    .argument('<project>', project)
    .addOption(new Option('--outcome <outcome>', 'only passes with this outcome').choices(passOutcomes))
    .option('--since <duration>', 'only passes that began within this time, e.g. 7d', duration('--since'))
    .option('--limit <n>', 'how many of the newest to show', listLimit('--limit'), 100)
    .action(call(() => import('./feedback-history.ts')));
  withDates(
    feedback
      .command('export')
      .description(
        'Write stored feedback to a file, oldest first, with comments and contacts; date filters leave out undated entries',
      )
      .argument('[project]', `${project}; default: all`)
      .addOption(
        new Option('--format <format>', 'one JSON object per line, CSV (RFC 4180) or Parquet')
          .choices(['jsonl', 'csv', 'parquet'])
          .makeOptionMandatory(),
      ),
  )
    .option('--source <list>', anyOf(knownSources))
    .option('--status <list>', anyOf(knownStatuses))
    .option('--include-deleted', 'also entries that the service no longer has')
    .option('--formula-safe', 'CSV: put an apostrophe before what a spreadsheet would run as a formula')
    .action(call(() => import('./feedback-export.ts')));
  feedback
    .command('stats')
    .description('Count the stored feedback by source, status and month, and the pages that did not help')
    .argument('[project]', `${project}; default: all`)
    .action(call(() => import('./feedback-stats.ts')));
  const search = feedback
    .command('search')
    .description('Find stored feedback by what people wrote in comments and code, newest first')
    .argument('[words...]', 'words that must all occur; without any, lists all entries that the options select')
    .option('--project <project>', `only this one: ${project}`);
  addSelectionFlags(search, 'projects')
    .option('--source <list>', anyOf(knownSources))
    .option('--status <list>', anyOf(knownStatuses))
    .addOption(new Option('--helpful <answer>', 'whether the page helped; none: nobody was asked').choices(answers))
    .option('--document <page>', 'only about this page, by path or address')
    .option('--since <when>', 'created from this ISO 8601 date or date-time on, or within e.g. 30d')
    .option('--until <when>', 'created before this')
    .option('--new-since <when>', 'only entries first seen after this')
    .option(
      '--limit <n>',
      'how many to show, 20 by default, at most 200; with --format all by default',
      listLimit('--limit'),
    )
    .option('--after <place>', 'continue after the `after` of an earlier answer')
    .option('--by-document', 'count the newest 10,000 hits by page instead')
    .addOption(new Option('--format <format>', 'write whole records to stdout').choices(['csv', 'jsonl']))
    .option('--formula-safe', 'CSV: put an apostrophe before what a spreadsheet would run as a formula')
    .option('--contacts', 'show contacts and, in records, unknown fields')
    .addHelpText(
      'after',
      '\nCase and accents do not matter. Words side by side: \'"two words"\'. A beginning: confi\\*. Chinese, Japanese, Korean' +
        '\nand Thai are found without blanks. Punctuation is ignored: foo_bar() finds foo and bar side by side.',
    )
    .action(call(() => import('./feedback-search-command.ts')));
  withDates(
    feedback
      .command('report')
      .description(
        'Write stored feedback as one HTML page with charts and recent comments, without contacts; for all projects into a folder: a page each, and one that ranks them',
      )
      .argument('[project]', `${project}; default: all`),
    'file to write, replaced once complete; - for stdout; without a project also a folder, named with / at its end or there already',
  )
    .addOption(
      new Option(
        '--comments <number>',
        `how many of the newest comments of a project to show, up to ${mostComments}; 0 shows none`,
      )
        .argParser(commentCount)
        .default(200),
    )
    .action(call(() => import('./feedback-report.ts')));
  feedback
    .command('move')
    .description('Copy the whole feedback store from SQLite to an empty PostgreSQL database, and compare both')
    .requiredOption('--to <address>', `postgres://user:\${PASSWORD}@host:5432/database, the password by reference`)
    .option('--yes', 'do not ask; needed without a terminal')
    .addHelpText(
      'after',
      '\nCopies all or nothing, with first sights, changes and earlier passes. Stop `docferry up` and every worker first.',
    )
    .action(call(() => import('./feedback-move.ts')));
  addActorFlag(feedback.command('erase'))
    .description('Remove a person from the stored feedback for good, and keep them out of every later sync')
    .argument('[project]', `${project}; default: everything in the store`)
    .requiredOption('--contact <email>', 'the address the person left; - reads it from stdin')
    .option('--yes', 'do not ask; needed without a terminal, and with --contact -')
    .addHelpText(
      'after',
      '\nEntries stay, without contact, comment, code and unknown fields, so that counts stay true. A person who is not' +
        '\nin the store is kept out as well; that is no failure. docs/privacy.md says what is found and what is not.',
    )
    .action(call(() => import('./feedback-erase.ts')));
}

function withDates(command: Command, out = 'file to write, replaced once complete; - for stdout'): Command {
  return command
    .requiredOption('--out <file>', out)
    .option('--from <date>', 'only entries created from this ISO 8601 date or date-time on')
    .option('--to <date>', 'only entries created before this ISO 8601 date or date-time');
}

function anyOf(known: readonly string[]): string {
  return `only these, separated by commas; known: ${known.join(', ')}`;
}

function commentCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= mostComments) return count;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${mostComments}.`);
}
