import type { Command } from 'commander';
import { type BundleStore, type Manifest, NoSuchVersion } from '../../../bundle/store/bundle-store.ts';
import { isStoreName } from '../../../bundle/store/store-names.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { CliFailure, noSuchThing } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';
import { diffText } from './diff-text.ts';

const shownFiles = 20;

interface Versions {
  domain: string;
  a: string | undefined;
  b: string | undefined;
}

export function addExportDiff(parent: Command, run: RunCommand): void {
  parent
    .command('diff')
    .description('Files that differ between two published versions of a site')
    .argument('<domain>', 'domain of a configured site')
    .argument('[a]', 'the older version; by default the one before the current one')
    .argument('[b]', 'the newer version; by default the current one')
    .option('--all', `every file, not only ${shownFiles} of each kind`)
    .addHelpText('after', '\nBy the manifests alone. Exit code 0 also when nothing differs, which is said.')
    .action((domain: string, a: string | undefined, b: string | undefined, { all }: { all?: boolean }) =>
      run((context) => showDiff(context, { domain, a, b }, all === true)),
    );
}

async function showDiff(context: CommandContext, { domain, a, b }: Versions, all: boolean): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { site } = findSite(config, domain);
  const { openBundleStore } = await import('../../../wiring/open-bundle-store.ts');
  const { compareManifests } = await import('../../../bundle/store/compare-manifests.ts');
  const store = await openBundleStore(config.store.bundles);
  const newer = b ?? (await currentOf(store, site.domain));
  const older = a ?? (await versionBefore(store, site.domain, newer));
  const manifests = [await manifestOf(store, site.domain, older), await manifestOf(store, site.domain, newer)] as const;
  const diff = compareManifests(...manifests);
  const most = all ? Number.POSITIVE_INFINITY : shownFiles;
  context.output.result({ domain: site.domain, ...diff }, diffText(site.domain, diff, most, context.output.paint));
  return exitCodes.done;
}

async function currentOf(store: BundleStore, domain: string): Promise<string> {
  const current = await store.current(domain);
  if (current) return current.version;
  throw noSuchThing('NoSuchVersion', `${domain} has no current version`, 'name two versions of `export versions`');
}

/** Of the versions that are kept: the newest of those that are older. */
async function versionBefore(store: BundleStore, domain: string, version: string): Promise<string> {
  const names = (await store.versions(domain)).map((published) => published.version);
  const before = names
    .filter((name) => name < version)
    .sort()
    .at(-1);
  if (before !== undefined) return before;
  throw noSuchThing('NoSuchVersion', `there is no version of ${domain} before ${version}`, listed(names));
}

async function manifestOf(store: BundleStore, domain: string, version: string): Promise<Manifest> {
  try {
    if (isStoreName(version)) return await store.manifest(domain, version);
  } catch (error) {
    if (!(error instanceof NoSuchVersion)) throw damaged(version, error);
  }
  const names = (await store.versions(domain)).map((published) => published.version);
  throw noSuchThing('NoSuchVersion', `${domain} has no version ${JSON.stringify(version.slice(0, 80))}`, listed(names));
}

/** A manifest that is no JSON, or not the JSON it should be. */
function damaged(version: string, error: unknown): unknown {
  const isDamage = error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError');
  if (!isDamage) return error;
  const message = `the manifest of ${version} is damaged`;
  return new CliFailure({
    code: 'VersionDamaged',
    message,
    hint: 'see `docferry store verify`',
    exitCode: exitCodes.failed,
  });
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'nothing of it is published';
  return `published: ${names.slice(0, 10).join(', ')}${names.length > 10 ? ' …' : ''}`;
}
