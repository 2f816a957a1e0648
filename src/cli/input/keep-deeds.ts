import { existsSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { deedRows, type OwnDeed } from '../../model/own-deed.ts';
import type { CommandContext } from '../context.ts';
import { explainFailure } from '../failures/explain-failure.ts';
import { withFeedbackStore } from './feedback-store-of.ts';
import { type SenderFlags, senderOf } from './sender.ts';

/**
 * Keeps in the audit what this command did. It stays done when the store is down: a warning says that the audit lacks
 * it.
 */
export async function keepDeeds(
  { output }: CommandContext,
  config: Config,
  flags: SenderFlags,
  deeds: readonly OwnDeed[],
): Promise<void> {
  if (deeds.length === 0) return;
  const warn = (problem: string) => output.warn(`it is done, but \`docferry audit\` will not show it: ${problem}`);
  const place = config.store.feedback;
  // A file made here would be another database than the workers'.
  if (place.kind === 'sqlite' && !existsSync(place.file)) return warn(`this machine has no ${place.file}`);
  try {
    const rows = deedRows(deeds, senderOf(flags), new Date());
    await withFeedbackStore(config, (store) => store.recordDeeds(rows));
  } catch (error) {
    warn(explainFailure(error).message);
  }
}
