import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type {
  ForAWhile,
  LeaseReport,
  OverrideAsk,
  PermitAnswer,
  PermitAsk,
  WindowSettings,
  WindowView,
} from '../model/budget/permits.ts';
import type { ExportPhase, ExportState } from '../model/export/site-export.ts';
import type { Transfer } from '../model/export/transfer.ts';
import type { SyncState } from '../model/sync/sync.ts';
import type { ApprovalAnswer, RejectionAnswer } from './approval.ts';

export const exportStateQuery = defineQuery<ExportState>('state');
export const pollNowUpdate = defineUpdate<ExportState>('pollNow');
/** A person's word on the version that waits; refused unless one does, and that one if it is named. */
export const approveUpdate = defineUpdate<{ version: string }, [ApprovalAnswer]>('approve');
export const rejectUpdate = defineUpdate<{ version: string }, [RejectionAnswer]>('reject');
/** Sent by the long bundle activity when it enters another phase. */
export const phaseSignal = defineSignal<[{ phase: ExportPhase }]>('phase');
/** Sent by the long bundle activity now and then. */
export const downloadSignal = defineSignal<[Transfer]>('download');

/** The key may have been changed: whatever waits for it tries it at once. Taken by exports and budgets. */
export const retryKeySignal = defineSignal('retryKey');

export const syncStateQuery = defineQuery<SyncState>('state');
/** Sent by the budget when permits came back before the time a waiter was told. */
export const permitsFreedSignal = defineSignal('permitsFreed');

/** At the moment given, or at the budget's last event when none is: an idle workflow's clock stands still. */
export const budgetStateQuery = defineQuery<WindowView, [{ at?: number }?]>('state');
export const askPermitsUpdate = defineUpdate<PermitAnswer, [PermitAsk]>('askPermits');
export const reportLeaseSignal = defineSignal<[LeaseReport]>('reportLease');
export const configureBudgetUpdate = defineUpdate<WindowView, [WindowSettings]>('configureBudget');
/** What a person sets for a while; null gives the word back to the configuration. */
export const overrideBudgetUpdate = defineUpdate<WindowView, [OverrideAsk | null]>('overrideBudget');
/** Stops granting for a while, or until resumed; null resumes. */
export const pauseBudgetUpdate = defineUpdate<WindowView, [ForAWhile | null]>('pauseBudget');
