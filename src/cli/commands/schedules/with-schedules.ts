import type { Client } from '@temporalio/client';
import { type OwnedSchedule, ownedSchedules } from '../../../client/owned-schedules.ts';
import { desiredSchedules } from '../../../model/schedule/desired-schedules.ts';
import { type CommandContext, loadContextConfig } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failures/exit-codes.ts';
import { withTemporal } from '../../temporal/session.ts';
import { findSchedules } from './find-schedules.ts';

/** What was done with one schedule: its part of the JSON document and a line for people. */
export interface ScheduleAnswer {
  document: object;
  line: string;
}

/** Does the work with each schedule that the words name, and prints `{schedules: [{id, …}]}`. */
export async function withSchedules(
  context: CommandContext,
  words: readonly string[],
  work: (client: Client, schedule: OwnedSchedule) => Promise<ScheduleAnswer>,
): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { taskQueue } = config.temporal;
  return withTemporal(config, async ({ client }) => {
    const configured = desiredSchedules(taskQueue, config.organizations).map(({ id }) => id);
    const answers: (ScheduleAnswer & { id: string })[] = [];
    for (const schedule of findSchedules(await ownedSchedules(client, taskQueue, configured), words)) {
      answers.push({ id: schedule.id, ...(await work(client, schedule)) });
    }
    const schedules = answers.map(({ id, document }) => ({ id, ...document }));
    const lines = answers.map(({ line }) => line).join('\n');
    context.output.result({ schedules }, lines === '' ? 'there are no schedules' : lines);
    return exitCodes.done;
  });
}
