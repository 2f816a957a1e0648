import { Command } from 'commander';
import { addBudgetPause } from './commands/budget/budget-pause.ts';
import { addBudgetPlan } from './commands/budget/budget-plan.ts';
import { addBudgetReset } from './commands/budget/budget-reset.ts';
import { addBudgetResume } from './commands/budget/budget-resume.ts';
import { addBudgetSet } from './commands/budget/budget-set.ts';
import { addBudgetShow } from './commands/budget/budget-show.ts';
import { addBudgetWatch } from './commands/budget/budget-watch.ts';
import { addConfigCheck } from './commands/config/config-check.ts';
import { addConfigInit } from './commands/config/config-init.ts';
import { addConfigSchema } from './commands/config/config-schema.ts';
import { addDemo } from './commands/demo.ts';
import { addDoctor } from './commands/doctor.ts';
import { addExportApprove } from './commands/export/export-approve.ts';
import { addExportCancel } from './commands/export/export-cancel.ts';
import { addExportRollOut } from './commands/export/export-deploy-local.ts';
import { addExportDiff } from './commands/export/export-diff.ts';
import { addExportHold } from './commands/export/export-hold.ts';
import { addExportPollNow } from './commands/export/export-poll-now.ts';
import { addExportReject } from './commands/export/export-reject.ts';
import { addExportRelease } from './commands/export/export-release.ts';
import { addExportRollback } from './commands/export/export-rollback.ts';
import { addExportStart } from './commands/export/export-start.ts';
import { addExportStatus } from './commands/export/export-status.ts';
import { addExportVerify } from './commands/export/export-verify.ts';
import { addExportVersions } from './commands/export/export-versions.ts';
import { addExportWatch } from './commands/export/export-watch.ts';
import { addFeedbackCancel } from './commands/feedback/feedback-cancel.ts';
import { addFeedbackErase } from './commands/feedback/feedback-erase.ts';
import { addFeedbackExport } from './commands/feedback/feedback-export.ts';
import { addFeedbackReport } from './commands/feedback/feedback-report.ts';
import { addFeedbackStats } from './commands/feedback/feedback-stats.ts';
import { addFeedbackStatus } from './commands/feedback/feedback-status.ts';
import { addFeedbackSync } from './commands/feedback/feedback-sync.ts';
import { addSandbox } from './commands/sandbox.ts';
import { addSchedulesApply } from './commands/schedules/schedules-apply.ts';
import { addSchedulesBackfill } from './commands/schedules/schedules-backfill.ts';
import { addSchedulesList } from './commands/schedules/schedules-list.ts';
import { addSchedulesPause } from './commands/schedules/schedules-pause.ts';
import { addSchedulesPlan } from './commands/schedules/schedules-plan.ts';
import { addSchedulesResume } from './commands/schedules/schedules-resume.ts';
import { addSchedulesTrigger } from './commands/schedules/schedules-trigger.ts';
import { addServe } from './commands/serve.ts';
import { addSetup } from './commands/setup.ts';
import { addStoreVerify } from './commands/store/store-verify.ts';
import { addUp } from './commands/up.ts';
import { addWorker } from './commands/worker-command.ts';
import type { RunCommand } from './context.ts';
import { packageVersion } from './input/package-file.ts';

/** Flags of every command. */
export interface GlobalFlags {
  config?: string;
  json?: boolean;
  quiet?: boolean;
  color: boolean;
}

const examples = `
Examples:
  docferry demo                                      the whole story on this machine, with a stand-in of the service
  docferry up                                        Temporal, a worker and the bundle server on this machine
  docferry export start docs.acme.example --wait     export a site and watch it
  docferry feedback sync prj_1 --wait --timeout 30m  read new feedback, for half an hour at most
  docferry budget show                               what is left of the hourly requests
  docferry export verify bundle.tar.gz --json        check an archive, for a script

Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 Temporal unreachable, 4 no such thing, 5 still running`;

/** All commands. Help, version and complaints of commander go to `write`, the others to `run`. */
export function createProgram(run: RunCommand, write: (text: string) => void): Command {
  const program = new Command('docferry')
    .description('Carries static-export bundles and user feedback out of a hosted documentation platform, on Temporal.')
    .version(packageVersion(), '--version', 'print the version')
    .option('--config <file>', 'configuration; default: DOCFERRY_CONFIG, else ./docferry.yaml')
    .option('--json', 'exactly one JSON document on stdout, the rest on stderr')
    .option('--quiet', 'say nothing on the way')
    .option('--no-color', 'no colours')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: write, writeErr: write })
    .exitOverride()
    .addHelpText('after', examples);
  addUp(program, run);
  addWorker(program, run);
  addServe(program, run);
  addSandbox(program, run);
  addDemo(program, run);
  addDoctor(program, run);
  addSetup(program, run);
  const config = program.command('config').description('The configuration');
  for (const add of [addConfigInit, addConfigCheck, addConfigSchema]) add(config, run);
  const exports = program.command('export').description('Exports of sites');
  for (const add of [addExportStart, addExportStatus, addExportCancel, addExportPollNow, addExportVersions]) {
    add(exports, run);
  }
  addExportDiff(exports, run);
  for (const add of [addExportWatch, addExportApprove, addExportReject]) add(exports, run);
  for (const add of [addExportRollback, addExportHold, addExportRelease]) add(exports, run);
  addExportRollOut(exports, run);
  addExportVerify(exports, run);
  const feedback = program.command('feedback').description('Feedback of projects');
  for (const add of [addFeedbackSync, addFeedbackStatus, addFeedbackCancel, addFeedbackExport, addFeedbackStats]) {
    add(feedback, run);
  }
  addFeedbackReport(feedback, run);
  addFeedbackErase(feedback, run);
  const budget = program.command('budget').description('Budgets of organizations');
  for (const add of [addBudgetShow, addBudgetWatch, addBudgetPlan, addBudgetSet]) add(budget, run);
  for (const add of [addBudgetReset, addBudgetPause, addBudgetResume]) add(budget, run);
  const store = program.command('store').description('The store of published versions');
  addStoreVerify(store, run);
  const schedules = program.command('schedules').description('Schedules of exports and syncs');
  for (const add of [addSchedulesPlan, addSchedulesApply, addSchedulesList, addSchedulesPause, addSchedulesResume]) {
    add(schedules, run);
  }
  for (const add of [addSchedulesTrigger, addSchedulesBackfill]) add(schedules, run);
  return program;
}
