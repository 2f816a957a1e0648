import { type Command, Option } from 'commander';
import { type SandboxFlag, sandboxFlags } from '../../../sandbox/options.ts';
import { auditActions } from '../../runs/rules/audit.ts';
import { addSelectionFlags } from '../actor.ts';
import type { CallHandler } from '../context.ts';
import { buildId, deploymentName, duration, hostAndPort, listLimit, port } from '../flags.ts';

const metricsHelp = 'serve GET /metrics at this address for Prometheus; without authentication';

export function addTopLevelCommands(program: Command, call: CallHandler): void {
  program
    .command('up')
    .description(
      'Run Temporal with its UI, a worker, the bundle server and the console on this machine, until SIGINT or SIGTERM',
    )
    .option('--sandbox', 'also run the sandbox, a stand-in for the documentation service; needs no configuration')
    .option('--port <port>', 'port of Temporal', port('--port'), 7233)
    .option('--ui-port <port>', "port of Temporal's UI", port('--ui-port'), 8233)
    .option('--no-ui', "run without Temporal's UI")
    .option('--bundle-port <port>', 'port of the bundle server', port('--bundle-port'), 8090)
    .option(
      '--console-port <port>',
      'port of the console, or off; default: 8088, or a free port if 8088 is taken',
      consolePort,
    )
    .option('--sandbox-port <port>', "with --sandbox: port of the sandbox's interface", port('--sandbox-port'), 8787)
    .option('--storage-port <port>', 'with --sandbox: port of its storage', port('--storage-port'), 8788)
    .option('--db <file>', "Temporal's database", './data/temporal.db')
    .option('--no-server', 'use the configured Temporal instead of an embedded server')
    .option('--metrics <host:port>', metricsHelp, hostAndPort('--metrics'))
    .option('--no-link', noLinkHelp)
    .action(call(() => import('./up.ts')));
  program
    .command('worker')
    .description('Run a worker until SIGINT or SIGTERM; it logs to stderr')
    .option(
      '--health <host:port>',
      'answer GET /healthz at this address: 200 while the worker takes work',
      hostAndPort('--health'),
    )
    .option('--metrics <host:port>', metricsHelp, hostAndPort('--metrics'))
    .addOption(
      new Option('--only <kind>', 'take only workflows and short steps, or only long, heavy steps').choices([
        'short',
        'bulk',
      ]),
    )
    .option(
      '--deployment <name>',
      "be a build of this Worker Deployment of Temporal's; goes with --build",
      deploymentName,
    )
    .option('--build <id>', 'id of this build, e.g. a version or commit; goes with --deployment', buildId)
    .addHelpText(
      'after',
      '\nA new build takes no work before `temporal worker deployment set-current-version` (docs/upgrading.md).',
    )
    .action(call(() => import('./worker-command.ts')));
  program
    .command('serve')
    .description('Run the server of published bundles until SIGINT or SIGTERM')
    .option('--bundle-port <port>', 'port to listen on', port('--bundle-port'), 8090)
    .option('--bundle-host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
    .action(call(() => import('./serve.ts')));
  program
    .command('console')
    .description('Serve pages for people who do not use a terminal until SIGINT or SIGTERM, and print how to sign in')
    .option('--port <port>', 'port to listen on', port('--port'), 8088)
    .option('--host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
    .option('--no-link', noLinkHelp)
    .action(call(() => import('./console-command.ts')));
  program
    .command('gateway')
    .description("Serve the service's analytics area to other programs, under the budget, until SIGINT or SIGTERM")
    .option('--port <port>', 'port to listen on', port('--port'), 8789)
    .option('--host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
    .option('--maxWait <duration>', 'how long a request waits for a permit, by default 30s', duration('--maxWait'))
    .option('--metrics <host:port>', metricsHelp, hostAndPort('--metrics'))
    .action(call(() => import('./gateway-command.ts')));
  const sandbox = program
    .command('sandbox')
    .description('Run a stand-in for the documentation service on this machine, with faults on demand')
    .action(call(() => import('./sandbox.ts')));
  for (const flag of sandboxFlags) sandbox.addOption(sandboxOption(flag));
  program
    .command('demo')
    .description('Play an export and a sync against the sandbox on free ports, with results under ./demo-data')
    .option('--keep', 'keep everything running at the end, until Ctrl-C')
    .action(call(() => import('../demo/demo.ts')));
  addSelectionFlags(
    program
      .command('status')
      .description('Show every site and project at a glance: what runs, how the last run ended, what fails'),
    'those',
  )
    .option('--failed', 'only what fails: failed, refused by verification, or failed at a target')
    .option(
      '--since <duration>',
      'only what is running or ended its last run within this time, e.g. 24h',
      duration('--since'),
    )
    .option('--watch', 'look again every two seconds until Ctrl-C')
    .option('--for <duration>', 'with --watch: stop after this time', duration('--for'))
    .addHelpText(
      'after',
      '\nThe exit code is 0 whatever has failed; 3 when neither Temporal nor the feedback store answers.',
    )
    .action(call(() => import('./status/show-status.ts')));
  program
    .command('audit')
    .description('List what people did by hand: starts, approvals, rollbacks, holds, budgets, schedules, erasures')
    .option('--since <duration>', 'only what was done within this time, e.g. 7d', duration('--since'))
    .option('--match <glob>', "only what was done to these, e.g. 'docs*.acme.example', 'acme/*' or 'acme'")
    .option('--org <org>', 'only what was done to this organization')
    .addOption(new Option('--action <action>', 'only audit entries of this kind').choices(auditActions))
    .option('--who <name>', 'only what was done by a name that contains this')
    .option('--limit <n>', 'how many of the newest to show', listLimit('--limit'), 100)
    .addHelpText(
      'after',
      '\nThe name is what the actor gave; docferry does not check it. A actor that gives none is' +
        '\n“Temporal UI or other client”.',
    )
    .action(call(() => import('./audit.ts')));
  program
    .command('doctor')
    .description('Check this installation and say how to fix what is wrong; run it where the workers run')
    .option('--key', 'have a worker test each API key; costs at most one request per organization')
    .action(call(() => import('../doctor/doctor.ts')));
  program
    .command('replay')
    .description("Replay the namespace's histories with this build, before it is deployed; changes nothing")
    .option('--since <duration>', 'workflows that run or ended within this time; default: 7d', duration('--since'))
    .option('--match <glob>', "only workflows whose id matches, e.g. 'export:*' or '*:acme:*'")
    .addHelpText('after', '\nExit code 1 if a history does not replay. Needs read access to Temporal, but no API key.')
    .action(call(() => import('./replay-command.ts')));
  program
    .command('setup')
    .description('Prepare a Temporal cluster: namespace and search attributes; on Cloud, print the commands that do it')
    .option('--create-namespace', 'create the namespace if it does not exist')
    .action(call(() => import('./setup.ts')));
  program
    .command('backup')
    .description(
      "Copy this machine's Temporal, feedback store and published bundles into a folder, while everything runs",
    )
    .requiredOption('--out <folder>', 'folder to create; it appears once the backup is complete')
    .option('--db <file>', "Temporal's database", './data/temporal.db')
    .action(call(() => import('../backup/backup.ts')));
  program
    .command('restore')
    .description('Restore a backup to the places that the configuration names; budgets then wait for one window')
    .argument('<folder>', 'folder that `docferry backup` made')
    .option('--db <file>', "Temporal's database", './data/temporal.db')
    .option('--force', 'rename what is already at these places')
    .action(call(() => import('../backup/restore.ts')));
}

const noLinkHelp =
  'print no link to sign in to the console by; with console.proxy or console.oidc there is none anyway';
const consolePort = (text: string): number | 'off' => (text === 'off' ? text : port('--console-port')(text));

function sandboxOption({ flag, kind, description, default: initial }: SandboxFlag): Option {
  if (kind === 'boolean') return new Option(`--${flag}`, description);
  const shown = initial === '' ? description : `${description} (default: ${initial})`;
  return new Option(`--${flag} <${kind === 'string' ? 'text' : kind}>`, shown);
}
