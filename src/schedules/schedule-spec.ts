import {
  type CalendarSpec,
  type CalendarSpecDescription,
  DAYS_OF_WEEK,
  MONTHS,
  type ScheduleDescription,
  type ScheduleOptions,
  type ScheduleOverlapPolicy,
  type ScheduleSpec,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import type { Calendar } from './rules/cron-calendar.ts';
import type { DesiredSchedule } from './rules/desired-schedules.ts';
import type { ExistingSchedule } from './rules/schedule-plan.ts';
import type { ScheduleSettings } from './rules/schedule-settings.ts';
import type { ScheduleTarget } from '../rules/schedule-target.ts';

/** Memo of the schedule's action: unlike the schedule's own memo, it can be updated and every run shows it. */
const digestMemo = 'docferryDigest';

/** A desired schedule as Temporal takes it, for `create` and, without the id, for `update`. */
export function scheduleOptions({ settings, digest }: DesiredSchedule): Omit<ScheduleOptions, 'scheduleId'> {
  const { action } = settings;
  return {
    // Complete: an update removes what it leaves out, so no former time fires beside the new ones.
    spec: specOf(settings),
    policies: {
      overlap: settings.overlap as ScheduleOverlapPolicy,
      catchupWindow: settings.catchupMs,
      pauseOnFailure: settings.pauseOnFailure,
    },
    action: {
      type: 'startWorkflow',
      workflowType: action.workflowType,
      taskQueue: action.taskQueue,
      workflowId: action.workflowId,
      args: [action.input],
      memo: { [digestMemo]: digest },
      staticSummary: action.summary,
      ...(action.taskTimeoutMs === null ? {} : { workflowTaskTimeout: action.taskTimeoutMs }),
      typedSearchAttributes: Object.entries(action.attributes).map(([name, value]) => ({
        key: defineSearchAttributeKey(name, 'KEYWORD'),
        value,
      })),
    },
  };
}

/** A schedule on the server in terms of the model. */
export function existingSchedule(description: ScheduleDescription, target: ScheduleTarget): ExistingSchedule {
  const { spec, action, policies, info } = description;
  const { calendars = [], intervals = [] } = spec;
  const settings: ScheduleSettings = {
    intervals: intervals.map(({ every, offset }) => ({ everyMs: every, offsetMs: offset ?? 0 })),
    calendars: calendars.map(calendarOf),
    timezone: spec.timezone ?? '',
    jitterMs: spec.jitter ?? 0,
    overlap: policies.overlap ?? 'unspecified',
    catchupMs: policies.catchupWindow,
    pauseOnFailure: policies.pauseOnFailure,
    action: {
      workflowType: action.workflowType,
      taskQueue: action.taskQueue,
      workflowId: action.workflowId ?? '',
      input: action.args?.length === 1 ? action.args[0] : action.args,
      summary: action.staticSummary ?? '',
      taskTimeoutMs: Number(action.workflowTaskTimeout ?? 0) || null,
      attributes: attributesIn(description),
    },
    extras: extrasOf(description),
  };
  const digest = action.memo?.[digestMemo];
  return {
    id: description.scheduleId,
    target,
    settings,
    digest: typeof digest === 'string' ? digest : null,
    running: info.runningActions.map(({ workflow }) => workflow.workflowId),
  };
}

function specOf({ intervals, calendars, timezone, jitterMs }: ScheduleSettings): ScheduleSpec {
  return {
    intervals: intervals.map(({ everyMs, offsetMs }) => ({ every: everyMs, offset: offsetMs })),
    calendars: calendars.map(calendarSpec),
    ...(timezone === '' ? {} : { timezone }),
    ...(jitterMs === 0 ? {} : { jitter: jitterMs }),
  };
}

function calendarSpec({ minute, hour, dayOfMonth, month, dayOfWeek }: Calendar): CalendarSpec {
  return {
    second: 0,
    minute,
    hour,
    dayOfMonth,
    month: month.map(({ start, end, step }) => ({
      start: named(MONTHS, start - 1),
      end: named(MONTHS, end - 1),
      step,
    })),
    dayOfWeek: dayOfWeek.map(({ start, end, step }) => ({
      start: named(DAYS_OF_WEEK, start),
      end: named(DAYS_OF_WEEK, end),
      step,
    })),
  };
}

function calendarOf({ minute, hour, dayOfMonth, month, dayOfWeek }: CalendarSpecDescription): Calendar {
  return {
    minute,
    hour,
    dayOfMonth,
    month: month.map(({ start, end, step }) => ({
      start: MONTHS.indexOf(start) + 1,
      end: MONTHS.indexOf(end) + 1,
      step,
    })),
    dayOfWeek: dayOfWeek.map(({ start, end, step }) => ({
      start: DAYS_OF_WEEK.indexOf(start),
      end: DAYS_OF_WEEK.indexOf(end),
      step,
    })),
  };
}

function named<Name>(names: readonly Name[], index: number): Name {
  const name = names[index];
  if (name === undefined) throw new RangeError(`no name for ${index}`);
  return name;
}

function attributesIn({ action }: ScheduleDescription): Record<string, string> {
  const { typedSearchAttributes } = action;
  const pairs = Array.isArray(typedSearchAttributes) ? typedSearchAttributes : (typedSearchAttributes?.getAll() ?? []);
  return Object.fromEntries(pairs.map(({ key, value }) => [key.name, String(value)]));
}

/** Settings that docferry never sets but a person or another program may have. */
function extrasOf({ spec, action }: ScheduleDescription): Record<string, unknown> {
  const { skip = [], startAt, endAt, calendars = [] } = spec;
  const { retry, workflowExecutionTimeout, workflowRunTimeout, staticDetails } = action;
  const exact = calendars.filter(({ second, year }) => year.length > 0 || second.some(({ end }) => end > 0));
  const found = {
    skip: skip.length === 0 ? undefined : skip,
    seconds: exact.length === 0 ? undefined : exact.map(({ second, year }) => ({ second, year })),
    startAt,
    endAt,
    retry,
    workflowExecutionTimeout,
    workflowRunTimeout,
    staticDetails,
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}
