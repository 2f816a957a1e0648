import type { Unavailable } from '../../../operations/gather-facts.ts';
import { projectLines, shownLines, siteLines, totalsOf } from '../../../operations/status-lines.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { selected } from '../../selection.ts';
import type { SelectionFlags } from '../../selection-flags.ts';
import type { Output } from '../../terminal/output.ts';
import { readStatus } from './read-status.ts';
import { type Look, statusText } from './status-text.ts';
import { watchStatus } from './watch-status.ts';

interface StatusFlags extends SelectionFlags {
  failed?: boolean;
  /** Milliseconds. */
  since?: number;
  watch?: boolean;
  /** Milliseconds. */
  for?: number;
}

/** Shows every site and project on one screen, whatever their number (decisions/0100). */
export default async function showStatus(context: CommandContext, flags: StatusFlags): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const selection = selected(config, flags);
  const { output } = context;
  const look = async (): Promise<Look> => {
    const { facts, unavailable } = await readStatus(config, selection);
    const [sites, projects] = [siteLines(selection, facts), projectLines(selection, facts)];
    const since = flags.since === undefined ? null : new Date(Date.now() - flags.since).toISOString();
    const wanted = { failed: flags.failed === true, since };
    return {
      sites: shownLines(sites, wanted),
      projects: shownLines(projects, wanted),
      totals: { sites: totalsOf(sites), projects: totalsOf(projects) },
      unavailable,
    };
  };
  const last = flags.watch ? await watchStatus(output, look, flags.for ?? Number.POSITIVE_INFINITY) : await look();
  warnOf(output, last.unavailable);
  output.result(last, statusText(last, Date.now(), output.surface));
  return exitCodes.done;
}

function warnOf(output: Output, unavailable: readonly Unavailable[]): void {
  for (const { unknown, message } of unavailable) output.warn(`${message}: ${unknown} is unknown`);
}
