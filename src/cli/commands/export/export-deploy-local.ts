import type { Command } from 'commander';
import type { BundleStore } from '../../../bundle/store/bundle-store.ts';
import type { Config, SiteConfig } from '../../../config/config.ts';
import type { RolloutResult } from '../../../model/export/site-export.ts';
import { counted, sizeText } from '../../../model/quantities.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../../context.ts';
import { CliFailure, noSuchThing, usageFailure } from '../../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { findSite } from '../../input/find-configured.ts';
import type { Paint } from '../../terminal/output.ts';
import { onInterrupt } from '../../terminal/signals.ts';
import { factLines, indent } from '../../terminal/text.ts';

export function addExportRollOut(parent: Command, run: RunCommand): void {
  parent
    .command('roll-out')
    .description('Put a version of the bundle store into service here, without Temporal and without the service')
    .argument('<domain>', 'domain of a configured site')
    .argument('<version>', 'a version in the store, e.g. one copied from another host')
    .addHelpText(
      'after',
      '\nThe archive is verified anew and compared with its manifest before any target is touched. Meant for hosts that' +
        '\nexport nothing themselves (air-gapped): elsewhere the next export puts its own current version back.',
    )
    .action((domain: string, version: string) => run((context) => rollOut(context, domain, version)));
}

async function rollOut(context: CommandContext, domain: string, version: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { site } = findSite(config, domain);
  if (site.rollout.length === 0) {
    throw usageFailure(`${site.domain} has no rollout targets`, `add one to its site in ${config.file}`);
  }
  const { openBundleStore } = await import('../../../wiring/open-bundle-store.ts');
  const store = await openBundleStore(config.store.bundles);
  const interrupt = onInterrupt();
  try {
    await verify(context, store, site, version, interrupt.signal);
    const rollouts = await rollOutTo(config, store, site, version, interrupt.signal);
    context.output.result(
      { domain: site.domain, version, rollouts },
      textOf(site, version, rollouts, context.output.paint),
    );
    return rollouts.some(({ outcome }) => outcome === 'failed') ? exitCodes.failed : exitCodes.done;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    throw failure('Interrupted', 'interrupted: the targets not yet reached are as they were', null);
  } finally {
    interrupt.dispose();
  }
}

/** No target is touched by a version that is not what its manifest says. */
async function verify(
  { output }: CommandContext,
  store: BundleStore,
  site: SiteConfig,
  version: string,
  signal: AbortSignal,
): Promise<void> {
  const { NoSuchVersion } = await import('../../../bundle/store/bundle-store.ts');
  const { verifyVersion } = await import('../../../bundle/store/verify-version.ts');
  const { defaultLimits } = await import('../../../bundle/archive/entry-rules.ts');
  const { VersionDamaged } = await import('../../../bundle/store/store-errors.ts');
  const { isStoreName } = await import('../../../bundle/store/store-names.ts');
  if (!isStoreName(version)) throw usageFailure(`${version} is no version's name`, 'see `docferry export versions`');
  const live = await output.startLive();
  try {
    await verifyVersion(store, site.domain, version, {
      limits: { ...defaultLimits, maxBytes: site.bundle.maxBytes, maxFiles: site.bundle.maxFiles },
      siteRules: site.bundle.rules,
      domain: site.domain,
      signal,
      onProgress: ({ files, bytes }) => {
        if (files === 0) return;
        const text = `${counted(files, 'file')}, ${sizeText(bytes)} verified`;
        live.show(version, { key: `${Math.floor(bytes / 1024 ** 3)}`, text });
      },
    });
  } catch (error) {
    const again = `copy ${store.place}/${site.domain}/versions/${version} again, the archive and manifest.json`;
    if (error instanceof VersionDamaged)
      throw failure('VersionDamaged', `${version} is damaged: ${error.message}`, again);
    if (!(error instanceof NoSuchVersion)) throw error;
    if (await hasFiles(store, site, version))
      throw failure('VersionDamaged', `${version} is in the store, but not whole`, again);
    throw noSuchThing('NoSuchVersion', `${error.message} in ${store.place}`, 'see `docferry export versions`');
  } finally {
    live.end();
  }
}

/** All targets are tried, whatever becomes of the others. */
async function rollOutTo(
  config: Config,
  bundles: BundleStore,
  site: SiteConfig,
  version: string,
  signal: AbortSignal,
): Promise<RolloutResult[]> {
  const { rollOutVersion } = await import('../../../rollout/roll-out-version.ts');
  const { rolloutTargets } = await import('../../../wiring/rollout-targets.ts');
  const results: RolloutResult[] = [];
  for (const target of rolloutTargets(site, config.store.bundles.publicUrl)) {
    const result = await rollOutVersion({ bundles, domain: site.domain, version, target, signal }).catch(
      (error: unknown): RolloutResult => {
        signal.throwIfAborted();
        const detail = error instanceof Error ? error.message : 'unknown failure';
        return { target: target.name, outcome: 'failed', detail };
      },
    );
    results.push(result);
  }
  return results;
}

function textOf({ domain }: SiteConfig, version: string, rollouts: readonly RolloutResult[], paint: Paint): string {
  const lines = rollouts.map(({ target, outcome, detail }): [string, string] => [
    target,
    `${outcome === 'failed' ? paint.red(outcome) : outcome}: ${detail}`,
  ]);
  return `${version} of ${domain}\n${indent(factLines(lines))}`;
}

function failure(code: string, message: string, hint: string | null): CliFailure {
  return new CliFailure({ code, message, hint, exitCode: exitCodes.failed });
}

async function hasFiles(store: BundleStore, { domain }: SiteConfig, version: string): Promise<boolean> {
  return (await store.inventory(domain)).some((stored) => stored.version === version);
}
