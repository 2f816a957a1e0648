import type { BundleStore } from '../../../exports/store/bundle-store.ts';
import { compareManifests } from '../../../exports/store/compare-manifests.ts';
import { waitingVersion } from '../../../operations/exports.ts';
import { planApprovals, planHolds, runningExport } from '../../../operations/operator.ts';
import { onSelected, runBulk, runningNow } from '../../bulk.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  noSuchThing,
  usageFailure,
} from '../../context.ts';
import { findVersion } from '../../find-version.ts';
import {
  type ActorFlags,
  addActorFlag,
  addActorFlags,
  addBulkFlags,
  addWaitFlags,
  type BulkFlags,
  findSite,
  isBulk,
  onRunning,
  reason,
  siteHelp,
  type WaitFlags,
  waitTimeout,
} from '../../flags.ts';
import { withOperator } from '../../operator.ts';
import { confirm, startInterruptibly } from '../../terminal/prompts.ts';
import { factLines, indent } from '../../terminal/text.ts';
import { waitForExport } from './export-run.ts';
import { countsLine } from './export-versions.ts';

/** Commands of a person who decides which version of a site is in service. */
export default {
  approve: (command, run) => {
    command
      .argument('[domain]', siteHelp)
      .argument('[version]', 'refuse unless this version waits, e.g. the one you have checked');
    addActorFlags(addBulkFlags(command, 'sites'))
      .addHelpText(
        'after',
        '\nFor many sites it approves the versions shown before you confirm, and none published later.',
      )
      .action(run(decideExport, 'approved'));
  },
  reject: (command, run) =>
    addActorFlag(command.argument('<domain>', siteHelp))
      .argument('[version]', 'refuse unless this version waits')
      .requiredOption(
        '--reason <text>',
        'why, up to 500 characters; shown in the result and by `export status`',
        reason,
      )
      .action(run(decideExport, 'rejected')),
  rollback: (command, run) => {
    command
      .argument('<domain>', siteHelp)
      .argument(
        '<version>',
        'a version of `export versions`, eight digits of its time or six of its digest, or previous',
      );
    addActorFlag(addWaitFlags(command))
      .option('--reason <text>', 'why; shown with the hold', reason)
      .option('--yes', 'on a terminal: do not ask')
      .addOption(onRunning('when an export of the domain is running', ['cancel', 'refuse']))
      .addHelpText(
        'after',
        '\nUntil `export release`, exports still publish versions but put none of them into service.',
      )
      .action(run(rollBack));
  },
  hold: (command, run) =>
    addActorFlag(addBulkFlags(command.argument('[domain]', siteHelp), 'sites'))
      .option('--reason <text>', 'why; shown with the hold', reason)
      .addHelpText('after', '\nWorks on the bundle store, without Temporal: run it where that store is.')
      .action(run(holdSite)),
  release: (command, run) =>
    addActorFlags(addBulkFlags(command.argument('[domain]', siteHelp), 'sites'))
      .addHelpText('after', '\nDoes not change what is in service. Works on the bundle store, without Temporal.')
      .action(run(releaseSite)),
} satisfies CommandFile;

/** Sends a person's decision to the running export of a site. */
async function decideExport(
  context: CommandContext,
  decision: 'approved' | 'rejected',
  name: string | undefined,
  asked: string | undefined,
  flags: BulkFlags,
): Promise<ExitCode> {
  if (decision === 'rejected' && !flags.reason) throw usageFailure('--reason must say why');
  // A person may approve many versions at once, but each rejection needs its own reason.
  if (decision === 'approved' && isBulk(name, flags, 'domain')) return approveExports(context, flags);
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, domain } = findSite(config, name ?? '');
    const waiting = asked ?? (await waitingVersion(operator.installation, { org, domain }));
    if (waiting === null) throw noSuchThing('NotRunning', `no version of ${domain} waits for approval`);
    const version = waiting;
    const { workflowId, runId } = await runningExport(operator.installation, { org, domain });
    if (asked === undefined) context.output.note(`${version} waits`);
    const document = { workflowId, runId, org, domain, version, decision };
    if (decision === 'approved') {
      await operator.approve({ org, domain }, version);
      context.output.result(document, `approved: ${version} goes into service`);
    } else {
      await operator.reject({ org, domain }, version);
      context.output.result({ ...document, reason: flags.reason ?? '' }, `rejected: ${version} is removed`);
    }
    return exitCodes.done;
  });
}

interface RollbackFlags extends WaitFlags, ActorFlags {
  yes?: boolean;
  onRunning: 'cancel' | 'refuse';
}

async function rollBack(
  context: CommandContext,
  name: string,
  wanted: string,
  flags: RollbackFlags,
): Promise<ExitCode> {
  const timeoutMs = waitTimeout(flags);
  const { output } = context;
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, domain } = findSite(config, name);
    const store = await operator.installation.bundles();
    const version = await findVersion(store, domain, wanted);
    // A script names what it wants; a person may have named something else.
    if (process.stdin.isTTY === true && flags.yes !== true) await confirmRollback(store, domain, version);
    const client = await operator.installation.temporal();
    const { started, interrupt } = await startInterruptibly(output, () =>
      operator.rollBack({ org, domain }, version, flags.onRunning),
    );
    const { handle, joined, cancelled } = started;
    if (cancelled) output.note(`cancelled the running export of ${domain}`);
    if (!flags.wait) {
      const { workflowId } = handle;
      const { runId } = await handle.describe();
      const document = { workflowId, runId, org, domain, version, joined, cancelledExport: cancelled };
      output.result(document, `started: ${workflowId}\nfollow it with \`docferry export watch ${domain}\``);
      interrupt.dispose();
      return exitCodes.done;
    }
    return waitForExport(context, { config, client }, { org, domain, handle, timeoutMs, interrupt });
  });
}

/** Shows what a rollback changes, and asks. The version in service is refused later, with what else may be meant. */
async function confirmRollback(store: BundleStore, domain: string, version: string): Promise<void> {
  const current = (await store.current(domain))?.version ?? null;
  if (current === version) return;
  const manifest = await store.manifest(domain, version);
  // A damaged version in service is a reason to roll back.
  const before = current === null ? null : await store.manifest(domain, current).catch(() => null);
  const counts = before === null ? null : countsLine(compareManifests(before, manifest).counts.pages);
  const text = `${domain}\n${indent(
    factLines([
      ['in service', current ?? 'nothing'],
      ['then', `${version}, held until \`docferry export release ${domain}\``],
      ['pages', counts ?? `${manifest.pages}`],
    ]),
  )}\nroll back?`;
  await confirm({ text, declined: 'cancelled, nothing changed' }, false);
}

async function holdSite(context: CommandContext, name: string | undefined, flags: BulkFlags): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return holdSites(context, flags);
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, domain } = findSite(config, name);
    const hold = await operator.hold({ org, domain });
    const text = `${domain} is held at ${hold.version}; \`docferry export release ${domain}\` ends that`;
    context.output.result({ domain, held: hold.version, hold }, text);
    return exitCodes.done;
  });
}

async function releaseSite(context: CommandContext, name: string | undefined, flags: BulkFlags): Promise<ExitCode> {
  if (isBulk(name, flags, 'domain')) return releaseSites(context, flags);
  return withOperator(context, flags, async ({ config, operator }) => {
    const { org, domain } = findSite(config, name);
    const released = await operator.release({ org, domain });
    const { version, waiting } = released;
    const next =
      waiting === null
        ? 'the next export decides what is in service'
        : `${waiting} waited; \`docferry export start ${domain}\` puts what is new into service`;
    const text = `${domain} is no longer held at ${version}; ${next}`;
    context.output.result({ domain, held: null, released }, text);
    return exitCodes.done;
  });
}

/** Approves what waits at many sites: the versions of the plan, and never one that came after it. */
async function approveExports(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites) =>
    runBulk(context, flags, await planApprovals(operator.installation, sites, await runningNow(operator)), {
      kind: 'sites',
      verb: 'approve the versions of',
      done: 'approved',
      none: 'no version waits for approval',
      lineOf: ({ domain, version }) => (version === null ? domain : `${domain}  ${version}`),
      async work({ version, ...site }) {
        if (version === null) throw new Error('only the versions shown in the plan are approved');
        await operator.approve(site, version);
        return { decision: 'approved' };
      },
    }),
  );
}

/** Holds many sites at what each has in service; those held already stay as they are. */
async function holdSites(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites) =>
    runBulk(context, flags, await planHolds(operator.installation, 'hold', sites), {
      kind: 'sites',
      verb: 'hold',
      done: 'held',
      none: 'nothing to hold',
      lineOf: ({ domain, current }) => (current === null ? domain : `${domain}  ${current}`),
      async work(site) {
        const { version, since } = await operator.hold(site);
        return { held: version, since };
      },
    }),
  );
}

/** Ends the holds of many sites. */
async function releaseSites(context: CommandContext, flags: BulkFlags): Promise<ExitCode> {
  return onSelected(context, flags, 'sites', async (operator, sites) =>
    runBulk(context, flags, await planHolds(operator.installation, 'release', sites), {
      kind: 'sites',
      verb: 'release',
      done: 'released',
      none: 'nothing to release',
      lineOf: ({ domain, held }) => (held === null ? domain : `${domain}  held at ${held}`),
      work: async (site) => ({ held: null, released: await operator.release(site) }),
    }),
  );
}
