import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type {
  BudgetConfirmation,
  ForAWhile,
  KeyCheck,
  LeaseReport,
  OverrideAsk,
  PermitAnswer,
  PermitAsk,
  WindowSettings,
} from './budget/rules/permits.ts';
import type { BudgetInput, CarriedWindow } from './budget/rules/window-state.ts';
import type { WindowView } from './budget/rules/window-view.ts';
import type { ApprovalAnswer, RejectionAnswer } from './exports/rules/export-messages.ts';
import type {
  ExportInput,
  ExportPhase,
  ExportResult,
  ExportState,
  RollbackInput,
  RollbackResult,
} from './exports/rules/site-export.ts';
import type {
  RefreshInput,
  RefreshResult,
  RefreshState,
  SyncInput,
  SyncResult,
  SyncState,
} from './feedback/rules/sync.ts';
import { searchAttributes } from './rules/workflow-ids.ts';
import type { Actor } from './runs/rules/audit.ts';
import type { WebhookDelivery, WebhookReceipt } from './runs/rules/webhook-event.ts';
import type { ScheduledInput, ScheduledResult } from './schedules/rules/desired-schedules.ts';

export const exportStateQuery = defineQuery<ExportState>('state');
export const pollNowUpdate = defineUpdate<ExportState>('pollNow');
/** A person's decision about the waiting version; refused if none waits, or another one than named. */
export const approveUpdate = defineUpdate<{ version: string }, [ApprovalAnswer, Actor?]>('approve');
export const rejectUpdate = defineUpdate<{ version: string }, [RejectionAnswer, Actor?]>('reject');
/** Sent by `fetchBundle` when it has been in another phase for some seconds. */
export const phaseSignal = defineSignal<[{ phase: ExportPhase }]>('phase');

/** The key may have been changed: exports and budgets that wait for it try it at once. */
export const retryKeySignal = defineSignal('retryKey');

export const syncStateQuery = defineQuery<SyncState>('state');
export const refreshStateQuery = defineQuery<RefreshState>('state');
/** Sent by the budget to a waiter that can come back earlier than told. */
export const permitsFreedSignal = defineSignal('permitsFreed');

/** The window at `at`, by default at the budget's last event: the clock of an idle workflow stands still. */
export const budgetStateQuery = defineQuery<WindowView, [{ at?: number }?]>('state');
/** All that the budget remembers: what `budget move` takes along. */
export const budgetLedgerQuery = defineQuery<CarriedWindow>('ledger');
export const askPermitsUpdate = defineUpdate<PermitAnswer, [PermitAsk]>('askPermits');
export const reportLeaseSignal = defineSignal<[LeaseReport]>('reportLease');
export const configureBudgetUpdate = defineUpdate<BudgetConfirmation, [WindowSettings, Actor?]>('configureBudget');
/** Overrides limit or reserve by hand; null ends that. */
export const overrideBudgetUpdate = defineUpdate<BudgetConfirmation, [OverrideAsk | null, Actor?]>('overrideBudget');
/** Stops granting for a time, or until resumed; null resumes. */
export const pauseBudgetUpdate = defineUpdate<BudgetConfirmation, [ForAWhile | null, Actor?]>('pauseBudget');

export const attributeKeys = {
  org: defineSearchAttributeKey(searchAttributes.org, 'KEYWORD'),
  domain: defineSearchAttributeKey(searchAttributes.domain, 'KEYWORD'),
  project: defineSearchAttributeKey(searchAttributes.project, 'KEYWORD'),
  phase: defineSearchAttributeKey(searchAttributes.phase, 'KEYWORD'),
  outcome: defineSearchAttributeKey(searchAttributes.outcome, 'KEYWORD'),
};

/** Search attributes to start a workflow with; the workflow then keeps the phase current. */
export function attributesOf(values: { [Name in keyof typeof attributeKeys]?: string }): SearchAttributePair[] {
  return Object.entries(values).map(([name, value]) => ({
    key: attributeKeys[name as keyof typeof attributeKeys],
    value,
  }));
}

/** What the workflows that clients and schedules start take and return, by the names they are started under. */
export interface Workflows {
  exportSite(input: ExportInput): Promise<ExportResult>;
  rollBack(input: RollbackInput): Promise<RollbackResult>;
  syncFeedback(input: SyncInput): Promise<SyncResult>;
  refreshFeedback(input: RefreshInput): Promise<RefreshResult>;
  rateBudget(input: BudgetInput): Promise<void>;
  runScheduled(input: ScheduledInput): Promise<ScheduledResult>;
  checkKey(input: { org: string; patient?: boolean }): Promise<KeyCheck>;
  deliverWebhook(input: WebhookDelivery): Promise<WebhookReceipt>;
}
