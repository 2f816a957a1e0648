import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SiteConfig } from '../../../config/config.ts';
import { defaultLimits } from '../../../exports/archive/check-entry.ts';
import { checkSignature } from '../../../exports/signing/minisign.ts';
import {
  type BundleStore,
  type Manifest,
  VersionConflict,
  VersionDamaged,
} from '../../../exports/store/bundle-store.ts';
import { sealOf } from '../../../exports/store/manifests.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { type CarriedManifest, packVersion, readCarriedVersion } from '../../../exports/store/portable-version.ts';
import { requireListed } from '../../../exports/store/verify-store.ts';
import { verifyInThread } from '../../../exports/verify/verify-in-thread.ts';
import { counted, sizeText } from '../../../rules/text.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  noSuchThing,
  operationFailure,
  usageFailure,
} from '../../context.ts';
import { currentVersion, findVersion } from '../../find-version.ts';
import { findSite, siteHelp } from '../../flags.ts';
import { namedPublicKey } from '../../signed-manifest.ts';
import { isToStdout, reportOut, writeOut } from '../../terminal/files.ts';
import { onInterrupt } from '../../terminal/prompts.ts';
import { deploy, deploymentText, exitCodeOf } from './export-deploy-local.ts';

export default {
  load: (command, run) =>
    command
      .argument('<file>', 'what `export save` wrote')
      .option('--store-only', 'put the version into the store, and not into service')
      .option('--older', 'also put a version into service that is older than the one there')
      .option('--force', 'also content that a check refused')
      .option('--signature <key>', 'minisign public key (or its file) that must have signed the manifest')
      .addHelpText(
        'after',
        '\nVerifies the archive and compares it with its manifest before the store has any of it; then makes the version' +
          '\ncurrent, rolls it out to the targets and checks it, without Temporal.',
      )
      .action(run(load)),
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

interface LoadFlags {
  storeOnly?: boolean;
  older?: boolean;
  force?: boolean;
  signature?: string;
}

async function load(context: CommandContext, named: string, flags: LoadFlags): Promise<ExitCode> {
  const { storeOnly = false, older = false, force = false, signature } = flags;
  const file = resolve(context.cwd, named);
  const found = await stat(file).catch(() => null);
  if (!found?.isFile()) throw noSuchThing('NoSuchFile', `there is no file ${named}`);
  const config = await loadContextConfig(context);
  const key = signature === undefined ? null : await namedPublicKey(context.cwd, signature);
  const store = await openBundleStore(config.store.bundles);
  const keys = key === null ? await store.verificationKeys() : ([key] as const);
  const stageId = `load-${randomUUID()}`;
  const interrupt = onInterrupt();
  let isStored = false;
  try {
    const accept = async (carried: CarriedManifest) => {
      const { domain } = findSite(config, carried.manifest.source.domain);
      if (!storeOnly && !older) await requireNotOlder(store, domain, carried.manifest.version);
      if (keys !== null) requireSigned(carried, keys);
      return store.stagingFile(stageId);
    };
    const { manifest } = await readCarriedVersion(file, accept, interrupt.signal);
    const { site } = findSite(config, manifest.source.domain);
    await verify(store, { stageId, manifest, site }, interrupt.signal);
    await publish(store, stageId, manifest);
    isStored = true;
    if (storeOnly) {
      report(context, store, manifest, null);
      return exitCodes.done;
    }
    const { version } = manifest;
    const deployed = await deploy(config, site, { bundles: store, version, force, signal: interrupt.signal });
    // Only now: until its targets run the new version, the one before may be needed again.
    await store.prune(site.domain, config.store.keep);
    report(context, store, manifest, deployed);
    return exitCodeOf(deployed);
  } catch (error) {
    if (interrupt.signal.aborted) {
      const left = isStored ? 'load it again: not all targets were reached' : 'the store is unchanged';
      throw operationFailure('Interrupted', `interrupted: ${left}`);
    }
    if (error instanceof VersionDamaged) {
      throw operationFailure('VersionDamaged', `${named}: ${error.message}`, 'save and carry it again');
    }
    if (error instanceof VersionConflict) throw operationFailure('VersionConflict', error.message);
    throw error;
  } finally {
    interrupt.dispose();
    await store.discardStaged(stageId);
  }
}

/** An older version is put into service only on purpose: the file may be one that lay around. */
async function requireNotOlder(store: BundleStore, domain: string, version: string): Promise<void> {
  const current = await store.current(domain);
  if (current === null || current.version <= version) return;
  throw operationFailure(
    'OlderVersion',
    `${version} is older than ${current.version}, which is in service: the store is unchanged`,
    'to put it into service anyway, use --older; --store-only keeps it beside the others',
  );
}

function requireSigned({ bytes, signature }: CarriedManifest, keys: Parameters<typeof checkSignature>[2]): void {
  const checked = checkSignature(bytes, signature, keys);
  if ('broken' in checked) throw new VersionDamaged(`${checked.broken.rule}: ${checked.broken.detail}`);
}

async function verify(
  store: BundleStore,
  { stageId, manifest, site }: { stageId: string; manifest: Manifest; site: SiteConfig },
  signal: AbortSignal,
): Promise<void> {
  const { domain, bundle } = site;
  const limits = { ...defaultLimits, maxBytes: bundle.maxBytes, maxFiles: bundle.maxFiles };
  const staged = await store.stagingFile(stageId);
  requireListed(await verifyInThread(staged, { limits, siteRules: bundle.rules, domain, signal }), manifest);
}

/** A version that is in the store already stays, if it has this content. */
async function publish(store: BundleStore, stageId: string, { version, ...staged }: Manifest): Promise<void> {
  await store.saveStaged(stageId, staged);
  await store.publish(stageId, version, sealOf(staged));
}

function report(
  { output }: CommandContext,
  store: BundleStore,
  manifest: Manifest,
  deployed: Awaited<ReturnType<typeof deploy>> | null,
): void {
  const { version, contentDigest, pages, archive } = manifest;
  const { domain } = manifest.source;
  const files = manifest.files.length;
  const url = store.urlOf(domain, manifest);
  const stored =
    `${version} of ${domain} is in ${store.place}: ${counted(files, 'file')}, ${sizeText(archive.bytes)}\n` +
    `  content digest  ${contentDigest}\n  address         ${url}\n`;
  const next =
    deployed === null
      ? `put it into service here with \`docferry export deploy-local ${domain} ${version}\``
      : deploymentText(domain, version, deployed, output.paint);
  output.result(
    { domain, version, contentDigest, pages, files, bytes: archive.bytes, url, ...deployed },
    stored + next,
  );
}

async function save(
  context: CommandContext,
  name: string,
  wanted: string | undefined,
  { out }: { out: string },
): Promise<void> {
  const { output } = context;
  if (isToStdout(out, output) && output.toTerminal) {
    throw usageFailure('--out - would write a tar to a terminal', 'name a file');
  }
  const config = await loadContextConfig(context);
  const { domain } = findSite(config, name);
  const store = await openBundleStore(config.store.bundles);
  const version = wanted === undefined ? await currentVersion(store, domain) : await findVersion(store, domain, wanted);
  try {
    const bytes = await writeOut(context, out, packVersion(store, domain, version));
    if (bytes === null) return;
    reportOut(output, out, { out, domain, version, bytes }, `${out}: ${version} of ${domain}, ${sizeText(bytes)}`);
    return;
  } catch (error) {
    if (!(error instanceof VersionDamaged)) throw error;
    throw operationFailure('VersionDamaged', `${version} is damaged: ${error.message}`, 'see `docferry store verify`');
  }
}
