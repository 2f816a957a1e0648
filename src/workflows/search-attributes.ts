import { defineSearchAttributeKey } from '@temporalio/common';
import { upsertSearchAttributes } from '@temporalio/workflow';
import { searchAttributes } from '../model/workflow-ids.ts';

const phaseKey = defineSearchAttributeKey(searchAttributes.phase, 'KEYWORD');

/** Makes the phase searchable: `DocferryPhase = "rendering"`. */
export function showPhase(phase: string): void {
  upsertSearchAttributes([{ key: phaseKey, value: phase }]);
}
