import type { Config, SiteConfig } from '../../../config/config.ts';
import { defaultLimits } from '../../../exports/archive/check-entry.ts';
import { rolloutTargets, takeStep } from '../../../exports/rollout/roll-out-version.ts';
import { stepsOf, VersionRefused } from '../../../exports/rollout/rollout-target.ts';
import { nextStep, rolloutResults, type StepTaken } from '../../../exports/rules/rollout-steps.ts';
import type { RolloutResult } from '../../../exports/rules/site-export.ts';
import { type BundleStore, NoSuchVersion, VersionDamaged } from '../../../exports/store/bundle-store.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { verifyVersion } from '../../../exports/store/verify-store.ts';
import { counted, sizeText } from '../../../rules/text.ts';
import { type CommandContext, type CommandFile, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes, operationFailure, usageFailure } from '../../failure.ts';
import { findVersion } from '../../find-version.ts';
import { siteHelp } from '../../flags.ts';
import { findSite } from '../../selection.ts';
import { onInterrupt } from '../../terminal/prompts.ts';
import { factLines, indent } from '../../terminal/text.ts';
import { rolloutFacts } from './wait-for-export.ts';

export default {
  'deploy-local': (command, run) =>
    command
      .argument('<domain>', siteHelp)
      .argument('<version>', 'a version in the store, enough of its time or digest, or previous')
      .addHelpText(
        'after',
        '\nVerifies the archive again and compares it with its manifest before it touches any target. Meant for hosts' +
          '\nthat run no exports (air-gapped): elsewhere the next export puts the current version back.',
      )
      .action(run(deployLocal)),
} satisfies CommandFile;

async function deployLocal(context: CommandContext, name: string, wanted: string): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { site } = findSite(config, name);
  const { domain } = site;
  if (site.rollout.length === 0) {
    throw usageFailure(`${domain} has no rollout targets`, `add one to its site in ${config.file}`);
  }
  const store = await openBundleStore(config.store.bundles);
  const version = await findVersion(store, domain, wanted);
  const interrupt = onInterrupt();
  try {
    await verify(context, store, site, version, interrupt.signal);
    const rollouts = await rollOutTo(config, store, site, version, interrupt.signal);
    const facts = factLines(rolloutFacts(rollouts, context.output.paint));
    context.output.result({ domain, version, rollouts }, `${version} of ${domain}\n${indent(facts)}`);
    return rollouts.some(({ outcome }) => outcome === 'failed') ? exitCodes.failed : exitCodes.done;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    throw operationFailure('Interrupted', 'interrupted: the targets not yet reached are unchanged');
  } finally {
    interrupt.dispose();
  }
}

/** A version that does not match its manifest touches no target. */
async function verify(
  { output }: CommandContext,
  store: BundleStore,
  { domain, bundle }: SiteConfig,
  version: string,
  signal: AbortSignal,
): Promise<void> {
  const live = await output.startLive();
  try {
    await verifyVersion(store, domain, version, {
      limits: { ...defaultLimits, maxBytes: bundle.maxBytes, maxFiles: bundle.maxFiles },
      siteRules: bundle.rules,
      domain,
      signal,
      onProgress: ({ files, bytes }) => {
        if (files === 0) return;
        const text = `${counted(files, 'file')}, ${sizeText(bytes)} verified`;
        live.show(version, { key: `${Math.floor(bytes / 1024 ** 3)}`, text });
      },
    });
  } catch (error) {
    const again = `copy ${store.place}/${domain}/versions/${version} again, the archive and manifest.json`;
    const damaged = (message: string) => operationFailure('VersionDamaged', message, again);
    if (error instanceof VersionDamaged) throw damaged(`${version} is damaged: ${error.message}`);
    if (!(error instanceof NoSuchVersion)) throw error;
    throw damaged(`${version} is incomplete in the store`);
  } finally {
    live.end();
  }
}

/** Takes the same steps as an export; nothing is tried twice. */
async function rollOutTo(
  config: Config,
  bundles: BundleStore,
  site: SiteConfig,
  version: string,
  signal: AbortSignal,
): Promise<RolloutResult[]> {
  const { domain } = site;
  const targets = rolloutTargets(config, site);
  const plan = targets.map(stepsOf);
  const previous = (await bundles.current(domain))?.version ?? null;
  const alive = async () => signal.throwIfAborted();
  const taken: StepTaken[] = [];
  for (let next = nextStep(plan, taken); next !== null; next = nextStep(plan, taken)) {
    const { target: name, step } = next;
    const target = targets.find((one) => one.name === name);
    if (!target) break;
    const failed = (error: unknown): StepTaken => {
      signal.throwIfAborted();
      const detail = error instanceof Error ? error.message : 'unknown failure';
      const blames = error instanceof VersionRefused ? 'version' : 'target';
      return { target: name, step, outcome: 'failed', detail, blames };
    };
    taken.push(
      await takeStep({ bundles, domain, version, previous, target, step, guard: alive, alive, signal }).catch(failed),
    );
  }
  return rolloutResults(plan, taken);
}
