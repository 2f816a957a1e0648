import { longestReason } from '../../exports/rules/site-export.ts';
import { deedRows, type OwnDeed } from '../../runs/rules/own-audit-entries.ts';
import type { ConsoleReader } from '../readings/console-reader.ts';
import type { Order } from './action.ts';

/**
 * Records in the audit what an order did that no workflow records, and says what was done. If the store is down, the
 * deed stands, and the text says that the audit lacks it.
 */
export async function audited(
  { connections, setting }: ConsoleReader,
  { login, form }: Order,
  deeds: readonly OwnDeed[],
  done: string,
): Promise<string> {
  if (deeds.length === 0) return done;
  try {
    const reason = form.get('reason')?.trim().slice(0, longestReason) || null;
    await (await connections.feedback()).recordDeeds(deedRows(deeds, { who: login, reason }, new Date()));
    return done;
  } catch (error) {
    return `${done} The audit will not show it: ${setting.explain(error).message}`;
  }
}
