import { text as textOfStream } from 'node:stream/consumers';
import type { Erasure } from '../../../feedback/privacy/privacy.ts';
import { reindex, vacuum } from '../../../feedback/store/queries.ts';
import { counted } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig, usageFailure } from '../../context.ts';
import { type ActorFlags, actorOf, addActorFlag, findProject, projectHelp } from '../../flags.ts';
import { withFeedbackStore } from '../../operator.ts';
import { confirm } from '../../terminal/prompts.ts';

export default {
  erase: (command, run) =>
    addActorFlag(command)
      .argument('[project]', `${projectHelp}; default: everything in the store`)
      .requiredOption('--contact <email>', 'the address the person left; - reads it from stdin')
      .option('--yes', 'do not ask; needed without a terminal, and with --contact -')
      .addHelpText(
        'after',
        '\nEntries stay, without contact, comment, code and unknown fields, so that counts stay true. A person who is not' +
          '\nin the store is kept out as well; that is no failure. docs/privacy.md says what is found and what is not.',
      )
      .action(run(erasePerson)),
} satisfies CommandFile;

interface EraseFlags extends Pick<ActorFlags, 'as'> {
  contact: string;
  yes?: boolean;
}

const longestContact = 1_000;

async function erasePerson(context: CommandContext, name: string | undefined, flags: EraseFlags): Promise<void> {
  const { output } = context;
  const config = await loadContextConfig(context);
  const found = name === undefined ? undefined : findProject(config, name);
  const contact = await contactOf(flags);
  const where = found === undefined ? 'everything' : `the feedback of ${found.project}`;
  const text = `Remove this person from ${where} in ${config.store.feedback.place}, for good?`;
  await confirm({ text, declined: 'nothing was erased' }, flags.yes === true);
  const { who } = actorOf(flags);
  const erased = await withFeedbackStore(config, (store) =>
    store.erase({ contact, at: new Date(), who, ...(found && { org: found.org, project: found.project }) }),
  );
  if (!erased.scrubbed) output.warn(notScrubbed[config.store.feedback.kind]);
  output.result(erased, textOf(erased));
}

const notScrubbed = {
  sqlite:
    'erased, but the file could not be rewritten: its free pages or its log may still contain old bytes. ' +
    'Stop other programs that use it, free some disk space, and erase again',
  postgres:
    'erased, but old rows and words may still be in the files of the database: VACUUM or REINDEX was refused or cut off. ' +
    'Erase again; where the tables belong to another role (psql shows it by \\dt feedback), run there as that role: ' +
    `${vacuum}; ${reindex};`,
};

/** No message ever repeats the contact (X1). */
async function contactOf(flags: EraseFlags): Promise<string> {
  const contact = (flags.contact === '-' ? await textOfStream(process.stdin) : flags.contact).trim();
  if (contact === '') throw usageFailure('--contact is empty', 'give the address the person left');
  if (contact.length > longestContact || /[\r\n]/.test(contact)) {
    throw usageFailure(`--contact is not an address: it has several lines, or more than ${longestContact} characters`);
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
