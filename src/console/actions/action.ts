import { longestReason } from '../../exports/rules/site-export.ts';
import { auditRows, type OwnAuditEntry } from '../../runs/rules/own-audit-entries.ts';
import type { ConsoleReader } from '../readings/console-reader.ts';
import { remember, type Session } from '../security/sessions.ts';

/** A form that was sent. */
export interface Order {
  /** Unique to the form, however often it is sent. The browser could choose it. */
  id: string;
  /**
   * Unique to this use of the form. Made on the server, so that no actor can keep an audit entry out of the audit by repeating
   * an id.
   */
  request: string;
  form: URLSearchParams;
  /** Who sent it. */
  login: string;
}

/** Something that can be done by a form. */
export interface Action<Subject> {
  /** On its button and as the title of its questions; of one that does several things, by its form. */
  label: string | ((form: URLSearchParams) => string);
  /** RangeRequest before, of what cannot be undone; null for what can. */
  question: ((subject: Subject, form: URLSearchParams) => string) | null;
  /** Acts, and says what was done. */
  run(reader: ConsoleReader, subject: Subject, order: Order): Promise<string>;
}

/**
 * Records in the audit what an order did that no workflow records, and says what was done. If the store is down, the
 * audit entry stands, and the text says that the audit lacks it.
 */
export async function audited(
  { connections, setting }: ConsoleReader,
  { login, form }: Order,
  auditEntries: readonly OwnAuditEntry[],
  done: string,
): Promise<string> {
  if (auditEntries.length === 0) return done;
  try {
    const reason = form.get('reason')?.trim().slice(0, longestReason) || null;
    await (await connections.feedback()).recordAuditEntries(
      auditRows(auditEntries, { who: login, reason }, new Date()),
    );
    return done;
  } catch (error) {
    return `${done} The audit will not show it: ${setting.explain(error).message}`;
  }
}

/**
 * Does the work of a form once, however often it is sent: a second sending waits for the first and gets its answer. After a
 * failure it may be sent again.
 */
export function doOnce({ done }: Session, id: string, work: () => Promise<string>): Promise<string> {
  const before = done.get(id);
  if (before !== undefined) return before;
  const answer = work();
  remember(done, id, answer);
  answer.catch(() => done.delete(id));
  return answer;
}
