import { type Command, Option } from 'commander';
import { runOutcomes } from '../../../exports/rules/site-export.ts';
import { addActorFlag, addActorFlags, addBulkFlags } from '../../actor.ts';
import type { CallHandler } from '../../context.ts';
import { addWaitFlags, duration, listLimit, reason } from '../../flags.ts';

export function addExportCommands(program: Command, call: CallHandler): void {
  const exports = program.command('export').description('Export sites, and control which version is in service');
  // Takes one site, or many by flags.
  const sitesCommand = (name: string, description: string) =>
    exports.command(name).description(description).argument('[domain]', 'domain of a configured site');
  const siteCommand = (name: string, description: string) =>
    exports.command(name).description(description).argument('<domain>', 'domain of a configured site');

  const start = sitesCommand('start', 'Export a site: start a job, download and verify the bundle, publish, roll out');
  addActorFlag(addBulkFlags(addWaitFlags(start), 'sites'))
    .option('--site-version <label>', 'label of the export; default: the latest published content')
    .option('--path <path...>', 'export only these pages; the result does not become current')
    .option('--promote', 'let an export limited by --path become current anyway')
    .option('--force', 'publish and roll out even if nothing changed')
    .addOption(onRunning('when an export of the domain is already running', ['join', 'refuse']))
    .action(call(() => import('./export-start.ts')));
  siteCommand('status', 'Show the running export of a site and how the last ones ended').action(
    call(() => import('./export-status.ts')),
  );
  const cancel = sitesCommand('cancel', 'Cancel the running export of a site; what it downloaded is removed');
  addActorFlag(addBulkFlags(cancel, 'sites')).action(call(() => import('./export-cancel.ts')));
  siteCommand('history', 'List all exports and rollbacks of a site that the store knows, with durations and reasons')
    .addOption(new Option('--outcome <outcome>', 'only runs with this outcome').choices(runOutcomes))
    .option('--since <duration>', 'only runs that began within this time, e.g. 7d', duration('--since'))
    .option('--limit <n>', 'how many of the newest to show', listLimit('--limit'), 100)
    .action(call(() => import('./export-history.ts')));
  addActorFlag(siteCommand('poll-now', 'Poll the running job now instead of waiting for the next poll')).action(
    call(() => import('./export-poll-now.ts')),
  );
  siteCommand('versions', 'List the published versions of a site, newest first').action(
    call(() => import('./export-versions.ts')),
  );
  siteCommand('diff', 'Show which files differ between two published versions of a site')
    .argument('[a]', 'the older version; default: the one before the newer one')
    .argument('[b]', 'the newer version; default: the current one')
    .option('--all', 'list every file, not only 20 of each kind')
    .addHelpText('after', '\nCompares the manifests only. The exit code is 0 whether or not files differ.')
    .action(call(() => import('./export-diff.ts')));
  siteCommand('watch', 'Follow the running export or rollback of a site until it ends; Ctrl-C only stops the watching')
    .option('--timeout <duration>', 'watch no longer than this, e.g. 30m (then exit code 5)', duration('--timeout'))
    .action(call(() => import('./export-watch.ts')));
  const approve = sitesCommand('approve', 'Put the version that waits for approval into service').argument(
    '[version]',
    'refuse unless this version waits, e.g. the one you have checked',
  );
  addActorFlags(addBulkFlags(approve, 'sites'))
    .addHelpText(
      'after',
      '\nFor many sites it approves the versions shown before you confirm, and none published later.',
    )
    .action(call(() => import('./export-decide.ts'), 'approved'));
  addActorFlag(siteCommand('reject', 'Remove the version that waits for approval; what is in service stays'))
    .argument('[version]', 'refuse unless this version waits')
    .requiredOption('--reason <text>', 'why, up to 500 characters; shown in the result and by `export status`')
    .action(call(() => import('./export-decide.ts'), 'rejected'));
  const rollback = siteCommand(
    'rollback',
    'Put a kept version back into service on all targets, and hold the site there; does not call the service',
  ).argument('<version>', 'a version that `export versions` lists, a unique prefix of it, or previous');
  addActorFlag(addWaitFlags(rollback))
    .option('--reason <text>', 'why; shown with the hold', reason)
    .addOption(onRunning('when an export of the domain is running', ['cancel', 'refuse']))
    .addHelpText('after', '\nUntil `export release`, exports still publish versions but put none of them into service.')
    .action(call(() => import('./export-rollback.ts')));
  const hold = sitesCommand(
    'hold',
    'Hold a site at its current version until `export release`; exports publish, but put nothing into service',
  );
  addActorFlag(addBulkFlags(hold, 'sites'))
    .option('--reason <text>', 'why; shown with the hold', reason)
    .addHelpText('after', '\nWorks on the bundle store, without Temporal: run it where that store is.')
    .action(call(() => import('./export-hold.ts')));
  const release = sitesCommand('release', 'End a hold, so that the next export puts new content into service');
  addActorFlags(addBulkFlags(release, 'sites'))
    .addHelpText('after', '\nDoes not change what is in service. Works on the bundle store, without Temporal.')
    .action(call(() => import('./export-release.ts')));
  siteCommand('save', 'Write a version into one file, for a host without the service and Temporal')
    .argument(
      '[version]',
      'a version that `export versions` lists, its beginning, or previous; default: the current one',
    )
    .requiredOption('--out <file>', 'file to write, - for stdout')
    .action(call(() => import('./export-save.ts')));
  exports
    .command('load')
    .description('Put a version that `export save` has written into the store here, without Temporal or the service')
    .argument('<file>', 'what `export save` wrote')
    .option('--signature <key>', 'minisign public key (or its file) that must have signed the manifest')
    .addHelpText(
      'after',
      '\nVerifies the archive and compares it with its manifest before the store has any of it. `export deploy-local`' +
        '\nthen puts it into service here.',
    )
    .action(call(() => import('./export-load.ts')));
  const deployLocal = call(() => import('./export-deploy-local.ts'));
  siteCommand('deploy-local', 'Put a version from the bundle store into service here, without Temporal or the service')
    .argument('<version>', 'a version in the store, a unique prefix of it, or previous')
    .addHelpText(
      'after',
      '\nVerifies the archive again and compares it with its manifest before it touches any target. Meant for hosts' +
        '\nthat run no exports (air-gapped): elsewhere the next export puts the current version back.',
    )
    .action(deployLocal);
  // The name it had before.
  exports.command('roll-out', { hidden: true }).argument('<domain>').argument('<version>').action(deployLocal);
  exports
    .command('verify')
    .description('Check an archive, without configuration or Temporal')
    .argument('<file>', 'a .tar.gz, .tar or .zip')
    .option('--structure-only', 'skip the rules about site content')
    .option('--explain', 'show every reason, the purpose of its rule, and every file with its digest')
    .option('--signature <key>', 'minisign public key (or its file) that must have signed the manifest')
    .option(
      '--manifest <file>',
      'with --signature: the manifest, with its .minisig beside it; default: manifest.json beside the archive',
    )
    .option('--domain <domain>', 'with --signature: the site the manifest must belong to')
    .option('--site-version <version>', 'with --signature: the version the manifest must belong to')
    .option('--render <pages>', 'also open this many sampled pages in Chromium, without network')
    .option('--browser <file>', 'with --render: the browser to use; default: one found on this machine')
    .option('--no-browser-sandbox', "with --render: turn off the browser's own sandbox, as in most containers")
    .action(call(() => import('./export-verify.ts')));
}

/** `--on-running`; the first way is the default. */
function onRunning(when: string, ways: readonly [string, ...string[]]): Option {
  return new Option('--on-running <how>', when).choices(ways).default(ways[0]);
}
