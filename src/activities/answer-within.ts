import { setTimeout as sleep } from 'node:timers/promises';

/** How long a step that can do without the database waits for it: less than a workflow task may take, within which it may run. */
export const databaseAnswersWithinMs = 1_000;

/** The answer, or null when it takes longer. Throws what the answer throws in time. */
export async function answerWithin<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer | null> {
  const waited = new AbortController();
  const tooLate = sleep(ms, null, { signal: waited.signal });
  tooLate.catch(() => {});
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    waited.abort();
  }
}
