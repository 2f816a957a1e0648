import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { Deed } from '../../model/deed.ts';
import type { CommandContext } from '../context.ts';
import { explainFailure } from '../failures/explain-failure.ts';
import { withFeedbackStore } from './feedback-store-of.ts';
import { type SenderFlags, senderOf } from './sender.ts';

/** A deed of a command that reaches no workflow. */
export interface OwnDeed extends Pick<Deed, 'action' | 'org' | 'subject'> {
  detail: object;
}

/**
 * Keeps in the audit what this command did. It stays done when the store is away: a warning says that the audit lacks it.
 */
export async function keepDeeds(
  { output }: CommandContext,
  config: Config,
  flags: SenderFlags,
  deeds: readonly OwnDeed[],
): Promise<void> {
  if (deeds.length === 0) return;
  const { who, reason = null } = senderOf(flags);
  const common = { at: new Date().toISOString(), who, reason, workflowId: null };
  const rows = deeds.map(({ detail, ...deed }) => ({
    ...deed,
    ...common,
    deedId: randomUUID(),
    detail: JSON.stringify(detail),
  }));
  try {
    await withFeedbackStore(config, (store) => store.recordDeeds(rows));
  } catch (error) {
    output.warn(`it is done, but \`docferry audit\` will not show it: ${explainFailure(error).message}`);
  }
}
