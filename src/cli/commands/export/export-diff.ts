import { type BundleStore, type Manifest, NoSuchVersion } from '../../../bundle/store/bundle-store.ts';
import { compareManifests } from '../../../bundle/store/compare-manifests.ts';
import { isStoreName } from '../../../bundle/store/store-names.ts';
import { openBundleStore } from '../../../wiring/open-bundle-store.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { noSuchThing, operationFailure } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';
import { diffText } from './diff-text.ts';

const shownFiles = 20;

export default async function showDiff(
  context: CommandContext,
  name: string,
  a: string | undefined,
  b: string | undefined,
  { all }: { all?: boolean },
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { domain } = findSite(config, name).site;
  const store = await openBundleStore(config.store.bundles);
  const newer = b ?? (await currentOf(store, domain));
  const older = a ?? (await versionBefore(store, domain, newer));
  const diff = compareManifests(await manifestOf(store, domain, older), await manifestOf(store, domain, newer));
  const most = all ? Number.POSITIVE_INFINITY : shownFiles;
  context.output.result({ domain, ...diff }, diffText(domain, diff, most, context.output.paint));
  return exitCodes.done;
}

async function currentOf(store: BundleStore, domain: string): Promise<string> {
  const current = await store.current(domain);
  if (current) return current.version;
  throw noSuchThing('NoSuchVersion', `${domain} has no current version`, 'name two versions of `export versions`');
}

/** The newest kept version that is older. */
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

/** A manifest that is not JSON, or not the JSON of a manifest. */
function damaged(version: string, error: unknown): unknown {
  const isDamage = error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError');
  if (!isDamage) return error;
  return operationFailure('VersionDamaged', `the manifest of ${version} is damaged`, 'see `docferry store verify`');
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none of its versions are published';
  return `published: ${names.slice(0, 10).join(', ')}${names.length > 10 ? ' …' : ''}`;
}
