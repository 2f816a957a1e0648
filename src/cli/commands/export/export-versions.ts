import type { Command } from 'commander';
import { sizeText } from '../../../model/quantities.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';
import { tableLines, timeText } from '../../terminal/text.ts';
import { holdText } from './hold-text.ts';

export function addExportVersions(parent: Command, run: RunCommand): void {
  parent
    .command('versions')
    .description('Published versions of a site, the newest first')
    .argument('<domain>', 'domain of a configured site')
    .action((domain: string) => run((context) => listVersions(context, domain)));
}

async function listVersions(context: CommandContext, domain: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { site } = findSite(config, domain);
  const { openBundleStore } = await import('../../../wiring/open-bundle-store.ts');
  const store = await openBundleStore(config.store.bundles);
  const current = (await store.current(site.domain))?.version ?? null;
  const versions = await store.versions(site.domain);
  const hold = await store.holds.of(site.domain);
  const document = { domain: site.domain, current, held: hold?.version ?? null, hold, versions };
  const rows = versions.map(({ version, publishedAt, pages, bytes, jobId }) => [
    version === current ? '*' : '',
    version,
    timeText(publishedAt),
    `${pages}`,
    sizeText(bytes),
    jobId,
  ]);
  const table = tableLines(['', 'version', 'published (UTC)', 'pages', 'archive', 'job'], rows);
  const text = rows.length === 0 ? `nothing published of ${site.domain} yet` : table;
  context.output.result(document, hold === null ? text : `${text}\n${holdText(hold)}`);
  return exitCodes.done;
}
