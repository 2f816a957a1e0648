import { parsePostgresAddress, postgresStore } from '../../../config/secrets.ts';
import { isThere } from '../../../files.ts';
import { counted, countText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig, noSuchThing, usageFailure } from '../../context.ts';
import { confirm } from '../../terminal/prompts.ts';
import { indent, tableLines } from '../../terminal/text.ts';

export default {
  move: (command, run) =>
    command
      .requiredOption('--to <address>', `postgres://user:\${PASSWORD}@host:5432/database, the password by reference`)
      .option('--yes', 'do not ask; needed without a terminal')
      .addHelpText(
        'after',
        '\nCopies all or nothing, with first sights, changes and earlier passes. Stop `docferry up` and every worker first.',
      )
      .action(run(move)),
} satisfies CommandFile;

/** Copies the whole feedback store from SQLite to PostgreSQL. */
async function move(context: CommandContext, flags: { to: string; yes?: boolean }): Promise<void> {
  const { output, env } = context;
  const address = /^postgres(ql)?:\/\//.test(flags.to) ? parsePostgresAddress(flags.to) : 'expected postgres://…';
  if (typeof address === 'string') throw usageFailure(`--to: ${address}`);
  const config = await loadContextConfig(context);
  const { feedback } = config.store;
  if (feedback.kind !== 'sqlite') {
    throw usageFailure('store.feedback names no SQLite file', 'between PostgreSQL servers use pg_dump and pg_restore');
  }
  if (!(await isThere(feedback.file)))
    throw noSuchThing('NoStore', `there is no ${feedback.file}`, 'see store.feedback');
  const target = postgresStore(flags.to, { directory: config.directory, environment: env });
  const text = `Copy everything in ${feedback.file} to ${target.place}?`;
  await confirm({ text, declined: 'nothing was copied' }, flags.yes === true);
  const { moveFeedback } = await import('../../../feedback/store/move-feedback.ts');
  const tables = await moveFeedback(feedback.file, target, ({ table, rows }) =>
    output.note(`${table}: ${counted(rows, 'row')}`),
  );
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const table = tableLines(
    ['table', 'rows'],
    tables.map((moved) => [moved.table, countText(moved.rows)]),
  );
  output.result(
    { from: feedback.file, to: target.place, rows, tables },
    `${counted(rows, 'row')} copied to ${target.place} and compared\n${indent(table)}\n` +
      'now name this database in store.feedback of every worker and start the workers; keep the file until then',
  );
}
