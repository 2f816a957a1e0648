import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { RunOutcome } from './exports/rules/export-outcome.ts';
import { searchAttributes } from './rules/workflow-ids.ts';

const keys = {
  org: defineSearchAttributeKey(searchAttributes.org, 'KEYWORD'),
  domain: defineSearchAttributeKey(searchAttributes.domain, 'KEYWORD'),
  project: defineSearchAttributeKey(searchAttributes.project, 'KEYWORD'),
  phase: defineSearchAttributeKey(searchAttributes.phase, 'KEYWORD'),
  outcome: defineSearchAttributeKey(searchAttributes.outcome, 'KEYWORD'),
};

/** Search attributes to start a workflow with; the workflow then keeps the phase current. */
export function attributesOf(values: { [Name in keyof typeof keys]?: string }): SearchAttributePair[] {
  return Object.entries(values).map(([name, value]) => ({ key: keys[name as keyof typeof keys], value }));
}

/** Makes the outcome searchable, `DocferryOutcome = "rollout-failed"`; every run that has ended is in the phase `done`. */
export function showEnd(outcome: RunOutcome | 'completed'): void {
  upsertSearchAttributes([
    { key: keys.phase, value: 'done' },
    { key: keys.outcome, value: outcome },
  ]);
}

/** The phase by which this run is found now; undefined when it was started without one. */
export function shownPhase(): string | undefined {
  return workflowInfo().typedSearchAttributes.get(keys.phase);
}

/** Makes the phase searchable: `DocferryPhase = "rendering"`. */
export function showPhase(phase: string): void {
  upsertSearchAttributes([{ key: keys.phase, value: phase }]);
}
