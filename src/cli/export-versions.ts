import type { Command } from 'commander';
import { type CommandContext, loadContextConfig, type RunCommand } from './context.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import { findSite } from './find-configured.ts';
import { sizeText, tableLines, timeText } from './text.ts';

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
  const { openBundleStore } = await import('../open-bundle-store.ts');
  const store = await openBundleStore(config.store.bundles);
  const current = (await store.current(site.domain))?.version ?? null;
  const versions = await store.versions(site.domain);
  // A rollback holds a site at a version: that comes with the rollback.
  const document = { domain: site.domain, current, held: null, versions };
  const rows = versions.map(({ version, publishedAt, pages, bytes, jobId }) => [
    version === current ? '*' : '',
    version,
    timeText(publishedAt),
    `${pages}`,
    sizeText(bytes),
    jobId,
  ]);
  const table = tableLines(['', 'version', 'published (UTC)', 'pages', 'archive', 'job'], rows);
  context.output.result(document, rows.length === 0 ? `nothing published of ${site.domain} yet` : table);
  return exitCodes.done;
}
