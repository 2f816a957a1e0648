import type { CommandFile } from './context.ts';

/** A command as help lists it. Everything else of a command is in its file, which is loaded when the command line names it. */
export interface CommandEntry {
  /** Its name, with what help shows after it. */
  term: string;
  summary: string;
  /** Left out of help. */
  hidden?: boolean;
  file: () => Promise<{ default: CommandFile }>;
}

/** Commands below one word. */
export interface CommandGroup {
  term: string;
  summary: string;
  commands: readonly CommandEntry[];
}

/** All commands, in the order of the help. */
export const commands: readonly (CommandEntry | CommandGroup)[] = [
  {
    term: 'up [options]',
    summary:
      'Run Temporal with its UI, a worker, the bundle server and the console on this machine, until SIGINT or SIGTERM',
    file: () => import('./commands/up.ts'),
  },
  {
    term: 'worker [options]',
    summary: 'Run a worker until SIGINT or SIGTERM; it logs to stderr',
    file: () => import('./commands/worker.ts'),
  },
  {
    term: 'serve [options]',
    summary: 'Run the server of published bundles until SIGINT or SIGTERM',
    file: () => import('./commands/serve.ts'),
  },
  {
    term: 'console [options]',
    summary: 'Serve pages for people who do not use a terminal until SIGINT or SIGTERM, and print how to sign in',
    file: () => import('./commands/console.ts'),
  },
  {
    term: 'gateway [options]',
    summary: "Serve the service's analytics area to other programs, under the budget, until SIGINT or SIGTERM",
    file: () => import('./commands/gateway.ts'),
  },
  {
    term: 'codec-server [options]',
    summary: 'Decrypt payloads for the Temporal UI and command line, until SIGINT or SIGTERM',
    file: () => import('./commands/codec-server.ts'),
  },
  {
    term: 'sandbox [options]',
    summary: 'Run a stand-in for the documentation service on this machine, with faults on demand',
    file: () => import('./commands/sandbox.ts'),
  },
  {
    term: 'demo [options]',
    summary: 'Play an export and a sync against the sandbox on free ports, with results under ./demo-data',
    file: () => import('./commands/demo.ts'),
  },
  {
    term: 'status [options]',
    summary: 'Show every site and project at a glance: what runs, how the last run ended, what fails',
    file: () => import('./commands/status.ts'),
  },
  {
    term: 'history [options]',
    summary: 'List what ended in the last day, of all sites and projects, with reasons; what failed comes first',
    file: () => import('./commands/history.ts'),
  },
  {
    term: 'audit [options]',
    summary: 'List what people did by hand: starts, approvals, rollbacks, holds, budgets, schedules, erasures',
    file: () => import('./commands/audit.ts'),
  },
  {
    term: 'doctor [options]',
    summary: 'Check this installation and say how to fix what is wrong; run it where the workers run',
    file: () => import('./commands/doctor.ts'),
  },
  {
    term: 'replay [options]',
    summary: "Replay the namespace's histories with this build, before it is deployed; changes nothing",
    file: () => import('./commands/replay.ts'),
  },
  {
    term: 'setup [options]',
    summary: 'Prepare a Temporal cluster: namespace and search attributes; on Cloud, print the commands that do it',
    file: () => import('./commands/setup.ts'),
  },
  {
    term: 'backup [options]',
    summary: "Copy this machine's Temporal, feedback store and published bundles into a folder, while everything runs",
    file: () => import('./commands/backup.ts'),
  },
  {
    term: 'restore [options] <folder>',
    summary: 'Restore a backup to the places that the configuration names; budgets then wait for one window',
    file: () => import('./commands/restore.ts'),
  },
  {
    term: 'config',
    summary: 'Create and check the configuration',
    commands: [
      {
        term: 'init [options]',
        summary: 'Write an example configuration to start from',
        file: () => import('./commands/config/config-init.ts'),
      },
      {
        term: 'check [options]',
        summary: 'Check the configuration and show what it means',
        file: () => import('./commands/config/config-check.ts'),
      },
      {
        term: 'schema',
        summary: 'Print the JSON Schema of the configuration, for editors',
        file: () => import('./commands/config/config-init.ts'),
      },
    ],
  },
  {
    term: 'export',
    summary: 'Export sites, and control which version is in service',
    commands: [
      {
        term: 'start [options] [domain]',
        summary: 'Export a site: start a job, download and verify the bundle, publish, roll out',
        file: () => import('./commands/export/export-run.ts'),
      },
      {
        term: 'status <domain>',
        summary: 'Show the running export of a site and how the last ones ended',
        file: () => import('./commands/export/export-status.ts'),
      },
      {
        term: 'cancel [options] [domain]',
        summary: 'Cancel the running export of a site; what it downloaded is removed',
        file: () => import('./commands/export/export-run.ts'),
      },
      {
        term: 'history [options] <domain>',
        summary: 'List all exports and rollbacks of a site that the store knows, with durations and reasons',
        file: () => import('./commands/export/export-history.ts'),
      },
      {
        term: 'poll-now [options] <domain>',
        summary: 'Poll the running job now instead of waiting for the next poll',
        file: () => import('./commands/export/export-run.ts'),
      },
      {
        term: 'versions <domain>',
        summary: 'List the published versions of a site, newest first',
        file: () => import('./commands/export/export-versions.ts'),
      },
      {
        term: 'diff [options] <domain> [a] [b]',
        summary: 'Show which files differ between two published versions of a site',
        file: () => import('./commands/export/export-versions.ts'),
      },
      {
        term: 'watch [options] <domain>',
        summary: 'Follow the running export or rollback of a site until it ends; Ctrl-C only stops the watching',
        file: () => import('./commands/export/export-run.ts'),
      },
      {
        term: 'approve [options] [domain] [version]',
        summary: 'Put the version that waits for approval into service',
        file: () => import('./commands/export/export-decide.ts'),
      },
      {
        term: 'reject [options] <domain> [version]',
        summary: 'Remove the version that waits for approval; what is in service stays',
        file: () => import('./commands/export/export-decide.ts'),
      },
      {
        term: 'rollback [options] <domain> <version>',
        summary:
          'Put a kept version back into service on all targets, and hold the site there; does not call the service',
        file: () => import('./commands/export/export-decide.ts'),
      },
      {
        term: 'hold [options] [domain]',
        summary:
          'Hold a site at its current version until `export release`; exports publish, but put nothing into service',
        file: () => import('./commands/export/export-decide.ts'),
      },
      {
        term: 'release [options] [domain]',
        summary: 'End a hold, so that the next export puts new content into service',
        file: () => import('./commands/export/export-decide.ts'),
      },
      {
        term: 'save [options] <domain> [version]',
        summary: 'Write a version into one file, for a host without the service and Temporal',
        file: () => import('./commands/export/export-carry.ts'),
      },
      {
        term: 'load [options] <file>',
        summary:
          'Verify a version that `export save` has written and put it into service here, without Temporal or the service',
        file: () => import('./commands/export/export-carry.ts'),
      },
      {
        term: 'deploy-local [options] <domain> <version>',
        summary: 'Put a version from the bundle store into service here, without Temporal or the service',
        file: () => import('./commands/export/export-deploy-local.ts'),
      },
      {
        term: 'verify [options] <file>',
        summary: 'Check an archive, without configuration or Temporal',
        file: () => import('./commands/export/export-verify.ts'),
      },
    ],
  },
  {
    term: 'feedback',
    summary: 'Sync, search, report, export and erase the feedback of projects',
    commands: [
      {
        term: 'sync [options] [project]',
        summary: "Read a project's feedback into the store, within the organization's budget",
        file: () => import('./commands/feedback/feedback-sync.ts'),
      },
      {
        term: 'status [project]',
        summary: 'Show what is stored of the projects, what runs, and how the last passes ended',
        file: () => import('./commands/feedback/feedback-status.ts'),
      },
      {
        term: 'cancel [options] [project]',
        summary: 'Cancel a running pass of a project; what it has read stays',
        file: () => import('./commands/feedback/feedback-sync.ts'),
      },
      {
        term: 'history [options] <project>',
        summary: 'List all passes of a project that the store knows, newest first, with durations and reasons',
        file: () => import('./commands/feedback/feedback-history.ts'),
      },
      {
        term: 'export [options] [project]',
        summary:
          'Write stored feedback to a file, oldest first, with comments and contacts; date filters leave out undated entries',
        file: () => import('./commands/feedback/feedback-export.ts'),
      },
      {
        term: 'stats [project]',
        summary: 'Count the stored feedback by source, status and month, and the pages that did not help',
        file: () => import('./commands/feedback/feedback-stats.ts'),
      },
      {
        term: 'search [options] [words...]',
        summary: 'Find stored feedback by what people wrote in comments and code, newest first',
        file: () => import('./commands/feedback/feedback-search.ts'),
      },
      {
        term: 'report [options] [project]',
        summary:
          'Write stored feedback as one HTML page with charts and recent comments, without contacts; for all projects into a folder: a page each, and one that ranks them',
        file: () => import('./commands/feedback/feedback-report.ts'),
      },
      {
        term: 'move [options]',
        summary: 'Copy the whole feedback store from SQLite to an empty PostgreSQL database, and compare both',
        file: () => import('./commands/feedback/feedback-move.ts'),
      },
      {
        term: 'erase [options] [project]',
        summary: 'Remove a person from the stored feedback for good, and keep them out of every later sync',
        file: () => import('./commands/feedback/feedback-erase.ts'),
      },
    ],
  },
  {
    term: 'budget',
    summary: 'Show and change the budgets of organizations',
    commands: [
      {
        term: 'show [org]',
        summary: "Show an organization's window of analytics requests: used, free, holders, waiters",
        file: () => import('./commands/budget/budget-show.ts'),
      },
      {
        term: 'watch [options] [org]',
        summary: "Watch an organization's window: slots, holders, waiters, refusals; Ctrl-C ends it",
        file: () => import('./commands/budget/budget-show.ts'),
      },
      {
        term: 'plan [org]',
        summary: 'Say how late feedback will be with the requests that refresh has, and with other shares',
        file: () => import('./commands/budget/budget-plan.ts'),
      },
      {
        term: 'set [options] <org>',
        summary: 'Override the configured limit or reserve until --for ends or `budget reset`',
        file: () => import('./commands/budget/budget-change.ts'),
      },
      {
        term: 'reset [options] [org]',
        summary: 'Return to the configuration after `set`; requests in the window stay counted',
        file: () => import('./commands/budget/budget-change.ts'),
      },
      {
        term: 'pause [options] [org]',
        summary: 'Stop all requests until you resume them; passes wait, and nothing is lost',
        file: () => import('./commands/budget/budget-change.ts'),
      },
      {
        term: 'resume [options] [org]',
        summary: 'Grant requests again after `pause`',
        file: () => import('./commands/budget/budget-change.ts'),
      },
      {
        term: 'move [options] [org]',
        summary: "Move an organization's budget to the task queue of the configuration, with what it remembers",
        file: () => import('./commands/budget/budget-change.ts'),
      },
    ],
  },
  {
    term: 'store',
    summary: 'Check the store of published versions',
    commands: [
      {
        term: 'verify [domain]',
        summary: 'Hash published versions again, and name those that are partial or tampered with',
        file: () => import('./commands/store-verify.ts'),
      },
    ],
  },
  {
    term: 'schedules',
    summary: 'Apply and control the schedules of exports and syncs',
    commands: [
      {
        term: 'plan',
        summary: 'Show what `schedules apply` would change, and what was changed by hand; changes nothing',
        file: () => import('./commands/schedules/schedules-apply.ts'),
      },
      {
        term: 'apply',
        summary:
          "Make Temporal's schedules match the configuration, as `up` does when it starts; paused ones stay paused",
        file: () => import('./commands/schedules/schedules-apply.ts'),
      },
      {
        term: 'list [options]',
        summary: 'List the schedules: when, next run, last outcome, what is paused, what was changed by hand',
        file: () => import('./commands/schedules/schedules-list.ts'),
      },
      {
        term: 'pause [options] [schedule...]',
        summary: 'Start nothing by schedule until you resume it; running work continues',
        file: () => import('./commands/schedules/schedules-act.ts'),
      },
      {
        term: 'resume [options] [schedule...]',
        summary: 'Resume paused schedules; missed runs are not made up for',
        file: () => import('./commands/schedules/schedules-act.ts'),
      },
      {
        term: 'trigger [options] [schedule...]',
        summary: 'Start the scheduled run now, paused or not; does nothing while one is running',
        file: () => import('./commands/schedules/schedules-act.ts'),
      },
      {
        term: 'backfill [options] [schedule...]',
        summary:
          "Run what was scheduled between two moments, one by one; each run sees today's state, not that of its time",
        file: () => import('./commands/schedules/schedules-act.ts'),
      },
    ],
  },
  {
    term: 'completion <shell>',
    summary: 'Print what lets a shell complete commands, flags and the names in the configuration',
    file: () => import('./commands/completion.ts'),
  },
  {
    term: 'complete <words...>',
    summary: 'Print how the last of these words of a command line may go on, a line for each way',
    hidden: true,
    file: () => import('./commands/completion.ts'),
  },
];
