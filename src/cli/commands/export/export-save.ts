import { VersionDamaged } from '../../../exports/store/bundle-store.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { packVersion } from '../../../exports/store/portable-version.ts';
import { sizeText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, operationFailure, usageFailure } from '../../failure.ts';
import { currentVersion, findVersion } from '../../find-version.ts';
import { siteHelp } from '../../flags.ts';
import { findSite } from '../../selection.ts';
import { stdoutName, writeOut } from '../../terminal/files.ts';

export default {
  save: (command, run) =>
    command
      .argument('<domain>', siteHelp)
      .argument(
        '[version]',
        'a version that `export versions` lists, its beginning, or previous; default: the current one',
      )
      .requiredOption('--out <file>', 'file to write, - for stdout')
      .action(run(save)),
} satisfies CommandFile;

async function save(
  context: CommandContext,
  name: string,
  wanted: string | undefined,
  { out }: { out: string },
): Promise<ExitCode> {
  const { output } = context;
  const toStdout = out === stdoutName;
  if (toStdout && output.json) throw usageFailure('--out - and --json both want stdout', 'name a file with --out');
  if (toStdout && output.toTerminal) throw usageFailure('--out - would write a tar to a terminal', 'name a file');
  const config = await loadContextConfig(context);
  const { domain } = findSite(config, name).site;
  const store = await openBundleStore(config.store.bundles);
  const version = wanted === undefined ? await currentVersion(store, domain) : await findVersion(store, domain, wanted);
  try {
    const bytes = await writeOut(context, out, packVersion(store, domain, version));
    if (bytes === null) return exitCodes.done;
    const summary = `${out}: ${version} of ${domain}, ${sizeText(bytes)}`;
    if (toStdout) output.note(summary);
    else output.result({ out, domain, version, bytes }, summary);
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof VersionDamaged)) throw error;
    throw operationFailure('VersionDamaged', `${version} is damaged: ${error.message}`, 'see `docferry store verify`');
  }
}
