import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { sizeText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';
import { siteHelp } from '../../flags.ts';
import { findSite } from '../../selection.ts';
import { tableLines, timeText } from '../../terminal/text.ts';
import { holdText } from './wait-for-export.ts';

export default {
  versions: (command, run) => command.argument('<domain>', siteHelp).action(run(listVersions)),
} satisfies CommandFile;

async function listVersions(context: CommandContext, name: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { site } = findSite(config, name);
  const { domain } = site;
  const store = await openBundleStore(config.store.bundles);
  const current = (await store.current(domain))?.version ?? null;
  const versions = await store.versions(domain);
  const hold = await store.holds.of(domain);
  const document = { domain, current, held: hold?.version ?? null, hold, versions };
  const rows = versions.map(({ version, publishedAt, pages, bytes, jobId }) => [
    version === current ? '*' : '',
    version,
    timeText(publishedAt),
    `${pages}`,
    sizeText(bytes),
    jobId,
  ]);
  const table = tableLines(
    ['', 'version', 'published (UTC)', 'pages', 'archive', 'job'],
    rows,
    context.output.surface.columns,
  );
  const lines = [rows.length === 0 ? `nothing published of ${domain} yet` : table];
  for (const { name: target } of current === null ? [] : site.rollout) {
    const reached = await store.rolledOut(domain, target);
    if (reached !== current)
      lines.push(`${target} did not get ${current}: the last one it got is ${reached ?? 'none'}`);
  }
  if (hold !== null) lines.push(holdText(hold));
  context.output.result(document, lines.join('\n'));
  return exitCodes.done;
}
