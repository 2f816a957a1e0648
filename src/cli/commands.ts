import type { CommandFile } from './context.ts';

/** Commands as help lists them. Everything else of a command is in its file, which is loaded when the command line names it. */
export interface CommandGroup {
  summary: string;
  /** By name with what help shows after it, in the order of the help: a command's summary, or the commands below one word. */
  commands: Readonly<Record<string, string | CommandGroup>>;
  /** Which commands each file has. */
  files: readonly (readonly [load: () => Promise<{ default: CommandFile }>, ...names: string[]])[];
}

/** Left out of help. */
export const hiddenCommand = 'complete';

export const commands: CommandGroup = {
  summary: 'Carries static-export bundles and user feedback out of a hosted documentation platform, on Temporal.',
  commands: {
    'up [options]':
      'Run Temporal with its UI, a worker, the bundle server and the console on this machine, until SIGINT or SIGTERM',
    'worker [options]': 'Run a worker until SIGINT or SIGTERM; it logs to stderr',
    'serve [options]': 'Run the server of published bundles until SIGINT or SIGTERM',
    'console [options]':
      'Serve pages for people who do not use a terminal until SIGINT or SIGTERM, and print how to sign in',
    'gateway [options]':
      "Serve the service's analytics area to other programs, under the budget, until SIGINT or SIGTERM",
    'codec-server [options]': 'Decrypt payloads for the Temporal UI and command line, until SIGINT or SIGTERM',
    'sandbox [options]': 'Run a stand-in for the documentation service on this machine, with faults on demand',
    'demo [options]': 'Play an export and a sync against the sandbox on free ports, with results under ./demo-data',
    'status [options]': 'Show every site and project at a glance: what runs, how the last run ended, what fails',
    'history [options]':
      'List what ended in the last day, of all sites and projects, with reasons; what failed comes first',
    'audit [options]':
      'List what people did by hand: starts, approvals, rollbacks, holds, budgets, schedules, erasures',
    'doctor [options]': 'Check this installation and say how to fix what is wrong; run it where the workers run',
    'replay [options]': "Replay the namespace's histories with this build, before it is deployed; changes nothing",
    'setup [options]':
      'Prepare a Temporal cluster: namespace and search attributes; on Cloud, print the commands that do it',
    'backup [options]':
      "Copy this machine's Temporal, feedback store and published bundles into a folder, while everything runs",
    'restore [options] <folder>':
      'Restore a backup to the places that the configuration names; budgets then wait for one window',
    config: {
      summary: 'Create and check the configuration',
      commands: {
        'init [options]': 'Write an example configuration to start from',
        'check [options]': 'Check the configuration and show what it means',
        schema: 'Print the JSON Schema of the configuration, for editors',
      },
      files: [
        [() => import('./commands/config/config-init.ts'), 'init', 'schema'],
        [() => import('./commands/config/config-check.ts'), 'check'],
      ],
    },
    export: {
      summary: 'Export sites, and control which version is in service',
      commands: {
        'start [options] [domain]': 'Export a site: start a job, download and verify the bundle, publish, roll out',
        'status <domain>': 'Show the running export of a site and how the last ones ended',
        'cancel [options] [domain]': 'Cancel the running export of a site; what it downloaded is removed',
        'history [options] <domain>':
          'List all exports and rollbacks of a site that the store knows, with durations and reasons',
        'poll-now [options] <domain>': 'Poll the running job now instead of waiting for the next poll',
        'versions <domain>': 'List the published versions of a site, newest first',
        'diff [options] <domain> [a] [b]': 'Show which files differ between two published versions of a site',
        'watch [options] <domain>':
          'Follow the running export or rollback of a site until it ends; Ctrl-C only stops the watching',
        'approve [options] [domain] [version]': 'Put the version that waits for approval into service',
        'reject [options] <domain> [version]': 'Remove the version that waits for approval; what is in service stays',
        'rollback [options] <domain> <version>':
          'Put a kept version back into service on all targets, and hold the site there; does not call the service',
        'hold [options] [domain]':
          'Hold a site at its current version until `export release`; exports publish, but put nothing into service',
        'release [options] [domain]': 'End a hold, so that the next export puts new content into service',
        'save [options] <domain> [version]':
          'Write a version into one file, for a host without the service and Temporal',
        'load [options] <file>':
          'Verify a version that `export save` has written and put it into service here, without Temporal or the service',
        'deploy-local [options] <domain> <version>':
          'Put a version from the bundle store into service here, without Temporal or the service',
        'verify [options] <file>': 'Check an archive, without configuration or Temporal',
      },
      files: [
        [() => import('./commands/export/export-run.ts'), 'start', 'cancel', 'poll-now', 'watch'],
        [() => import('./commands/export/export-status.ts'), 'status'],
        [() => import('./commands/export/export-history.ts'), 'history'],
        [() => import('./commands/export/export-versions.ts'), 'versions', 'diff'],
        [() => import('./commands/export/export-decide.ts'), 'approve', 'reject', 'rollback', 'hold', 'release'],
        [() => import('./commands/export/export-carry.ts'), 'save', 'load'],
        [() => import('./commands/export/export-deploy-local.ts'), 'deploy-local'],
        [() => import('./commands/export/export-verify.ts'), 'verify'],
      ],
    },
    feedback: {
      summary: 'Sync, search, report, export and erase the feedback of projects',
      commands: {
        'sync [options] [project]': "Read a project's feedback into the store, within the organization's budget",
        'status [project]': 'Show what is stored of the projects, what runs, and how the last passes ended',
        'cancel [options] [project]': 'Cancel a running pass of a project; what it has read stays',
        'history [options] <project>':
          'List all passes of a project that the store knows, newest first, with durations and reasons',
        'export [options] [project]':
          'Write stored feedback to a file, oldest first, with comments and contacts; date filters leave out undated entries',
        'stats [project]': 'Count the stored feedback by source, status and month, and the pages that did not help',
        'search [options] [words...]': 'Find stored feedback by what people wrote in comments and code, newest first',
        'report [options] [project]':
          'Write stored feedback as one HTML page with charts and recent comments, without contacts; for all projects into a folder: a page each, and one that ranks them',
        'move [options]': 'Copy the whole feedback store from SQLite to an empty PostgreSQL database, and compare both',
        'erase [options] [project]':
          'Remove a person from the stored feedback for good, and keep them out of every later sync',
      },
      files: [
        [() => import('./commands/feedback/feedback-sync.ts'), 'sync', 'cancel'],
        [() => import('./commands/feedback/feedback-status.ts'), 'status'],
        [() => import('./commands/feedback/feedback-history.ts'), 'history'],
        [() => import('./commands/feedback/feedback-export.ts'), 'export'],
        [() => import('./commands/feedback/feedback-stats.ts'), 'stats'],
        [() => import('./commands/feedback/feedback-search.ts'), 'search'],
        [() => import('./commands/feedback/feedback-report.ts'), 'report'],
        [() => import('./commands/feedback/feedback-move.ts'), 'move'],
        [() => import('./commands/feedback/feedback-erase.ts'), 'erase'],
      ],
    },
    budget: {
      summary: 'Show and change the budgets of organizations',
      commands: {
        'show [org]': "Show an organization's window of analytics requests: used, free, holders, waiters",
        'watch [options] [org]': "Watch an organization's window: slots, holders, waiters, refusals; Ctrl-C ends it",
        'plan [org]': 'Say how late feedback will be with the requests that refresh has, and with other shares',
        'set [options] <org>': 'Override the configured limit or reserve until --for ends or `budget reset`',
        'reset [options] [org]': 'Return to the configuration after `set`; requests in the window stay counted',
        'pause [options] [org]': 'Stop all requests until you resume them; passes wait, and nothing is lost',
        'resume [options] [org]': 'Grant requests again after `pause`',
        'move [options] [org]':
          "Move an organization's budget to the task queue of the configuration, with what it remembers",
      },
      files: [
        [() => import('./commands/budget/budget-show.ts'), 'show', 'watch'],
        [() => import('./commands/budget/budget-plan.ts'), 'plan'],
        [() => import('./commands/budget/budget-change.ts'), 'set', 'reset', 'pause', 'resume', 'move'],
      ],
    },
    store: {
      summary: 'Check the store of published versions',
      commands: {
        'verify [domain]': 'Hash published versions again, and name those that are partial or tampered with',
      },
      files: [[() => import('./commands/store-verify.ts'), 'verify']],
    },
    schedules: {
      summary: 'Apply and control the schedules of exports and syncs',
      commands: {
        plan: 'Show what `schedules apply` would change, and what was changed by hand; changes nothing',
        apply:
          "Make Temporal's schedules match the configuration, as `up` does when it starts; paused ones stay paused",
        'list [options]': 'List the schedules: when, next run, last outcome, what is paused, what was changed by hand',
        'pause [options] [schedule...]': 'Start nothing by schedule until you resume it; running work continues',
        'resume [options] [schedule...]': 'Resume paused schedules; missed runs are not made up for',
        'trigger [options] [schedule...]':
          'Start the scheduled run now, paused or not; does nothing while one is running',
        'backfill [options] [schedule...]':
          "Run what was scheduled between two moments, one by one; each run sees today's state, not that of its time",
      },
      files: [
        [() => import('./commands/schedules/schedules-apply.ts'), 'plan', 'apply'],
        [() => import('./commands/schedules/schedules-list.ts'), 'list'],
        [() => import('./commands/schedules/schedules-act.ts'), 'pause', 'resume', 'trigger', 'backfill'],
      ],
    },
    'completion <shell>': 'Print what lets a shell complete commands, flags and the names in the configuration',
    'complete <words...>': 'Print how the last of these words of a command line may go on, a line for each way',
  },
  files: [
    [() => import('./commands/up.ts'), 'up'],
    [() => import('./commands/worker.ts'), 'worker'],
    [() => import('./commands/serve.ts'), 'serve'],
    [() => import('./commands/console.ts'), 'console'],
    [() => import('./commands/gateway.ts'), 'gateway'],
    [() => import('./commands/codec-server.ts'), 'codec-server'],
    [() => import('./commands/sandbox.ts'), 'sandbox'],
    [() => import('./commands/demo.ts'), 'demo'],
    [() => import('./commands/status.ts'), 'status'],
    [() => import('./commands/history.ts'), 'history'],
    [() => import('./commands/audit.ts'), 'audit'],
    [() => import('./commands/doctor.ts'), 'doctor'],
    [() => import('./commands/replay.ts'), 'replay'],
    [() => import('./commands/setup.ts'), 'setup'],
    [() => import('./commands/backup.ts'), 'backup'],
    [() => import('./commands/restore.ts'), 'restore'],
    [() => import('./commands/completion.ts'), 'completion', 'complete'],
  ],
};
