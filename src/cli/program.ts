import { Command } from 'commander';
import { addBudgetPause } from './budget-pause.ts';
import { addBudgetPlan } from './budget-plan.ts';
import { addBudgetReset } from './budget-reset.ts';
import { addBudgetResume } from './budget-resume.ts';
import { addBudgetSet } from './budget-set.ts';
import { addBudgetShow } from './budget-show.ts';
import { addBudgetWatch } from './budget-watch.ts';
import { addConfigCheck } from './config-check.ts';
import { addConfigInit } from './config-init.ts';
import { addConfigSchema } from './config-schema.ts';
import type { RunCommand } from './context.ts';
import { addDemo } from './demo.ts';
import { addDoctor } from './doctor.ts';
import { addExportApprove } from './export-approve.ts';
import { addExportCancel } from './export-cancel.ts';
import { addExportDiff } from './export-diff.ts';
import { addExportHold } from './export-hold.ts';
import { addExportPollNow } from './export-poll-now.ts';
import { addExportReject } from './export-reject.ts';
import { addExportRelease } from './export-release.ts';
import { addExportRollOut } from './export-roll-out.ts';
import { addExportRollback } from './export-rollback.ts';
import { addExportStart } from './export-start.ts';
import { addExportStatus } from './export-status.ts';
import { addExportVerify } from './export-verify.ts';
import { addExportVersions } from './export-versions.ts';
import { addExportWatch } from './export-watch.ts';
import { addFeedbackCancel } from './feedback-cancel.ts';
import { addFeedbackErase } from './feedback-erase.ts';
import { addFeedbackExport } from './feedback-export.ts';
import { addFeedbackReport } from './feedback-report.ts';
import { addFeedbackStats } from './feedback-stats.ts';
import { addFeedbackStatus } from './feedback-status.ts';
import { addFeedbackSync } from './feedback-sync.ts';
import { packageVersion } from './package-file.ts';
import { addSandbox } from './sandbox.ts';
import { addSchedulesApply } from './schedules-apply.ts';
import { addSchedulesBackfill } from './schedules-backfill.ts';
import { addSchedulesList } from './schedules-list.ts';
import { addSchedulesPause } from './schedules-pause.ts';
import { addSchedulesPlan } from './schedules-plan.ts';
import { addSchedulesResume } from './schedules-resume.ts';
import { addSchedulesTrigger } from './schedules-trigger.ts';
import { addServe } from './serve.ts';
import { addSetup } from './setup.ts';
import { addStoreVerify } from './store-verify.ts';
import { addUp } from './up.ts';
import { addWorker } from './worker.ts';

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
