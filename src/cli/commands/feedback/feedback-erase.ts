import { text as textOfStream } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Erasure } from '../../../feedback/privacy/privacy-store.ts';
import { counted } from '../../../model/quantities.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { CliFailure, usageFailure } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findProject } from '../../input/find-configured.ts';

interface EraseFlags {
  contact: string;
  yes?: boolean;
}

const longestContact = 1_000;

export function addFeedbackErase(parent: Command, run: RunCommand): void {
  parent
    .command('erase')
    .description('Remove a person from the stored feedback, for good, and keep them out of every later sync')
    .argument('[project]', 'id of a configured project, or org/project; default: everything in the store')
    .requiredOption('--contact <email>', 'the address the person left; - reads it from stdin')
    .option('--yes', 'do not ask on a terminal')
    .addHelpText(
      'after',
      '\nEntries stay without contact, comment, code and unknown fields, so that counts stay true. One who is not there' +
        '\nis kept out as well: that is no failure. docs/privacy.md says what is found, and what is not.',
    )
    .action((project: string | undefined, flags: EraseFlags) => run((context) => erase(context, project, flags)));
}

async function erase(context: CommandContext, name: string | undefined, flags: EraseFlags): Promise<ExitCode> {
  const { output } = context;
  const config = await loadContextConfig(context);
  const project = name === undefined ? undefined : findProject(config, name).project.id;
  const contact = await contactOf(flags);
  if (flags.yes !== true && flags.contact !== '-' && process.stdin.isTTY) {
    const where = project === undefined ? 'everything' : `the feedback of ${project}`;
    const { confirm } = await import('../../terminal/confirm.ts');
    if (!(await confirm(`Remove this person from ${where} in ${config.store.feedback.place}, for good?`))) {
      throw new CliFailure({ code: 'Declined', message: 'nothing was erased', hint: null, exitCode: exitCodes.failed });
    }
  }
  const { withFeedbackStore } = await import('../../input/feedback-store-of.ts');
  const erased = await withFeedbackStore(config, (store) =>
    store.erase({ contact, at: new Date(), ...(project === undefined ? {} : { project }) }),
  );
  if (!erased.scrubbed) output.warn(notScrubbed[config.store.feedback.kind]);
  output.result(erased, textOf(erased));
  return exitCodes.done;
}

const notScrubbed = {
  sqlite:
    'it is erased, but the file could not be written anew: its free pages or its log may hold old bytes. ' +
    'Stop what else uses it, see to some room on the disk, and erase once more',
  postgres: 'it is erased, but VACUUM was refused: old versions of rows stay until autovacuum has run',
};

/** The contact is never repeated, whatever is wrong with it (X1). */
async function contactOf(flags: EraseFlags): Promise<string> {
  const contact = (flags.contact === '-' ? await textOfStream(process.stdin) : flags.contact).trim();
  if (contact === '') throw usageFailure('--contact is empty', 'give the address the person left');
  if (contact.length > longestContact || /[\r\n]/.test(contact)) {
    throw usageFailure(`--contact is no address: it has several lines, or more than ${longestContact} characters`);
  }
  return contact;
}

function textOf({ contact, entries, changes, rejects, projects }: Erasure): string {
  const counts = [counted(entries, 'entry', 'entries'), counted(changes, 'change'), counted(rejects, 'reject')].join(
    ', ',
  );
  const where = projects.length === 0 ? '' : ` (${projects.map(({ project }) => project).join(', ')})`;
  const found =
    entries + changes + rejects === 0 ? 'nothing in the store names this person' : `erased from ${counts}${where}`;
  return `${found}; kept out of every later sync as ${contact}`;
}
