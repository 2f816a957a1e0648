import { type BundleStore, type Manifest, NoSuchVersion } from '../../../exports/store/bundle-store.ts';
import { compareManifests } from '../../../exports/store/compare-manifests.ts';
import { RecordDamaged } from '../../../exports/store/store-errors.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { operationFailure } from '../../cli-failure.ts';
import { type ExitCode, exitCodes } from '../../exit-codes.ts';
import { findSite } from '../../find-configured.ts';
import { currentVersion, findVersion, versionBefore } from '../../find-version.ts';
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
  const newer = b === undefined ? await currentVersion(store, domain) : await findVersion(store, domain, b);
  const older = a === undefined ? await keptBefore(store, domain, newer) : await findVersion(store, domain, a);
  const diff = compareManifests(await manifestOf(store, domain, older), await manifestOf(store, domain, newer));
  const most = all ? Number.POSITIVE_INFINITY : shownFiles;
  context.output.result({ domain, ...diff }, diffText(domain, diff, most, context.output.paint));
  return exitCodes.done;
}

async function keptBefore(store: BundleStore, domain: string, version: string): Promise<string> {
  const names = (await store.versions(domain)).map((published) => published.version);
  return versionBefore(names, domain, version);
}

async function manifestOf(store: BundleStore, domain: string, version: string): Promise<Manifest> {
  try {
    return await store.manifest(domain, version);
  } catch (error) {
    if (error instanceof NoSuchVersion) throw incomplete(version);
    throw damaged(version, error);
  }
}

function incomplete(version: string): unknown {
  const hint = 'see `docferry store verify`';
  return operationFailure('VersionDamaged', `${version} is incomplete in the store: it has no manifest`, hint);
}

function damaged(version: string, error: unknown): unknown {
  if (!(error instanceof RecordDamaged)) return error;
  return operationFailure('VersionDamaged', `the manifest of ${version} is damaged`, 'see `docferry store verify`');
}
