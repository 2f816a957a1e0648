import type { Config, SiteConfig } from '../../../config/config.ts';
import { defaultLimits } from '../../../exports/archive/check-entry.ts';
import { deployVersion } from '../../../exports/rollout/deploy-version.ts';
import { rolloutTargets } from '../../../exports/rollout/roll-out-version.ts';
import { type BundleStore, NoSuchVersion, SiteHeld, VersionDamaged } from '../../../exports/store/bundle-store.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { verifyVersion } from '../../../exports/store/verify-store.ts';
import { counted, sizeText } from '../../../rules/text.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  operationFailure,
  type Paint,
  usageFailure,
} from '../../context.ts';
import { findVersion } from '../../find-version.ts';
import { findSite, siteHelp } from '../../flags.ts';
import { reasonLines, rolloutFacts } from '../../terminal/progress.ts';
import { interruptible } from '../../terminal/prompts.ts';
import { factLines, indent } from '../../terminal/text.ts';

export default {
  'deploy-local': (command, run) =>
    command
      .argument('<domain>', siteHelp)
      .argument('<version>', 'a version in the store, enough of its time or digest, or previous')
      .option('--force', 'also content that a check refused')
      .addHelpText(
        'after',
        '\nVerifies the archive again and compares it with its manifest, makes the version current, rolls it out and' +
          '\nchecks it. Meant for hosts that run no exports (air-gapped): elsewhere use `export rollback`.',
      )
      .action(run(deployLocal)),
} satisfies CommandFile;

async function deployLocal(
  context: CommandContext,
  name: string,
  wanted: string,
  { force = false }: { force?: boolean },
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { domain, site } = findSite(config, name);
  if (site.rollout.length === 0) {
    throw usageFailure(`${domain} has no rollout targets`, `add one to its site in ${config.file}`);
  }
  const store = await openBundleStore(config.store.bundles);
  const version = await findVersion(store, domain, wanted);
  const deployed = await interruptible('the targets not yet reached are unchanged', async (signal) => {
    await verify(context, store, site, version, signal);
    return deploy(config, site, { bundles: store, version, force, signal });
  });
  const text = deploymentText(domain, version, deployed, context.output.paint);
  context.output.result({ domain, version, ...deployed }, text);
  return exitCodeOf(deployed);
}

type Deployed = Awaited<ReturnType<typeof deployVersion>>;

/** Puts a version into service at the site's targets. Throws a failure where a person holds the site at another. */
export async function deploy(
  config: Config,
  site: SiteConfig,
  deployment: Pick<Parameters<typeof deployVersion>[0], 'bundles' | 'version' | 'force' | 'signal'>,
): Promise<Deployed> {
  const { domain } = site;
  try {
    return await deployVersion({ ...deployment, domain, targets: rolloutTargets(config, site) });
  } catch (error) {
    if (!(error instanceof SiteHeld)) throw error;
    const left = `${deployment.version} is in the store, not in service`;
    throw operationFailure(
      'SiteHeld',
      `${error.message}: ${left}`,
      `\`docferry export release ${domain}\` ends the hold`,
    );
  }
}

/** A version that did not come into service everywhere has failed. */
export function exitCodeOf({ rollouts, reasons }: Deployed): ExitCode {
  const failed = reasons.length > 0 || rollouts.some(({ outcome }) => outcome === 'failed');
  return failed ? exitCodes.failed : exitCodes.done;
}

/** The version, what each target runs, and, if the version is not in service, why. */
export function deploymentText(
  domain: string,
  version: string,
  { rollouts, reasons, held }: Deployed,
  paint: Paint,
): string {
  const lines = [`${version} of ${domain}`, indent(factLines(rolloutFacts(rollouts, paint)))];
  if (reasons.length > 0) lines.push('reasons:', reasonLines(reasons));
  if (held !== null) lines.push(`${domain} is held at ${held}; --force tries content again that a check refused`);
  return lines.filter((line) => line !== '').join('\n');
}

/** A version that does not match its manifest touches no target. */
async function verify(
  { output }: CommandContext,
  store: BundleStore,
  { domain, bundle }: SiteConfig,
  version: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await output.showing((live) =>
      verifyVersion(store, domain, version, {
        limits: { ...defaultLimits, maxBytes: bundle.maxBytes, maxFiles: bundle.maxFiles },
        siteRules: bundle.rules,
        domain,
        signal,
        onProgress: ({ files, bytes }) => {
          if (files === 0) return;
          const text = `${counted(files, 'file')}, ${sizeText(bytes)} verified`;
          live.show(version, { key: `${Math.floor(bytes / 1024 ** 3)}`, text });
        },
      }),
    );
  } catch (error) {
    const again = `copy ${store.place}/${domain}/versions/${version} again, the archive and manifest.json`;
    const damaged = (message: string) => operationFailure('VersionDamaged', message, again);
    if (error instanceof VersionDamaged) throw damaged(`${version} is damaged: ${error.message}`);
    if (!(error instanceof NoSuchVersion)) throw error;
    throw damaged(`${version} is incomplete in the store`);
  }
}
