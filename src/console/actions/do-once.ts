import { remember, type Session } from '../security/sessions.ts';

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
