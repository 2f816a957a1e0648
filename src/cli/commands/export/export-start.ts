import type { ExportParameters, ExportState } from '../../../exports/rules/site-export.ts';
import { exportState } from '../../../operations/exports.ts';
import { addActorFlag, addBulkFlags, type BulkFlags } from '../../actor.ts';
import { startExports } from '../../bulk.ts';
import type { CommandContext, CommandFile } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { addWaitFlags, onRunning, siteHelp, type WaitFlags, waitTimeout } from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { findSite, isBulk, refuseInBulk } from '../../selection.ts';
import { refusedKey } from '../../session.ts';
import { startInterruptibly } from '../../terminal/prompts.ts';
import { waitForExport } from './wait-for-export.ts';

export default {
  start: (command, run) =>
    addActorFlag(addBulkFlags(addWaitFlags(command.argument('[domain]', siteHelp)), 'sites'))
      .option('--site-version <label>', 'label of the export; default: the latest published content')
      .option('--path <path...>', 'export only these pages; the result does not become current')
      .option('--promote', 'let an export limited by --path become current anyway')
      .option('--force', 'publish and roll out even if nothing changed')
      .addOption(onRunning('when an export of the domain is already running', ['join', 'refuse']))
      .action(run(startOrJoinExport)),
} satisfies CommandFile;

interface StartFlags extends WaitFlags, BulkFlags {
  siteVersion?: string;
  path?: string[];
  promote?: boolean;
  force?: boolean;
  onRunning: 'join' | 'refuse';
}

async function startOrJoinExport(
  context: CommandContext,
  name: string | undefined,
  flags: StartFlags,
): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) {
    refuseInBulk({ '--wait': flags.wait, '--timeout': flags.timeout });
    return startExports(context, flags, parametersOf(flags));
  }
  const timeoutMs = waitTimeout(flags);
  const { output } = context;
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, site } = findSite(config, name);
    const { domain } = site;
    const client = await operator.installation.temporal();
    const { started, interrupt } = await startInterruptibly(output, () =>
      operator.startExport({ org, domain }, parametersOf(flags), flags.onRunning),
    );
    const { handle, joined, runId } = started;
    const { workflowId } = handle;
    if (joined) output.note(`joined the export of ${domain} that is already running`);
    if (!flags.wait) {
      const document = { workflowId, runId: runId ?? (await handle.describe()).runId, org, domain, joined };
      const follow = `follow it with \`docferry export watch ${domain}\``;
      output.result(document, `${joined ? 'running' : 'started'}: ${workflowId}\n${follow}`);
      interrupt.dispose();
      return exitCodes.done;
    }
    const read = () => exportState(client, org, domain);
    const refusal = await refusedKey(client, { org, joined, read, refusedOf });
    const troubleOf = (state: ExportState) => refusal(state, `docferry export cancel ${domain}`);
    return waitForExport(context, { config, client }, { org, domain, handle, timeoutMs, interrupt, troubleOf });
  });
}

/** When a refused key is tried again; null while it works. */
const refusedOf = ({ unauthorized }: ExportState): number | null => unauthorized?.nextTryAt ?? null;

function parametersOf({ siteVersion, path, promote, force }: StartFlags): ExportParameters {
  return {
    ...(siteVersion === undefined ? {} : { siteVersion }),
    ...(path === undefined ? {} : { paths: path }),
    ...(promote === true ? { promote } : {}),
    ...(force === true ? { force } : {}),
  };
}
