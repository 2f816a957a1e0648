import { type Recorded, replayFailures, secretsIn } from '../temporal/recorded-workflows.ts';
import type { Kept } from './kept.ts';

/** None of the secrets, nor the feedback's personal data, stands in a history or in what was said (X1). */
export function secretsKept(
  recorded: readonly Recorded[],
  said: readonly string[],
  secrets: readonly string[],
  /** What is no secret and stands there: the search sees what payloads hold. */
  words: readonly string[],
): Kept {
  const texts = [...recorded.map(({ text }) => text), ...said];
  const found = secretsIn(texts, secrets);
  const seen = words.filter((word) => texts.some((text) => text.includes(word)));
  return {
    promise: 'X1',
    looked: `${recorded.length} histories and all logs, for ${secrets.length} secrets and personal data`,
    found: found.length === 0 ? 'none' : `found: ${found.map((secret) => `${secret.slice(0, 12)}…`).join(', ')}`,
    ok: found.length === 0 && seen.length === words.length,
  };
}

/** Every history is repeated by the built code (X2). */
export async function replaysKept(recorded: readonly Recorded[]): Promise<Kept> {
  const failures = await replayFailures(recorded);
  return {
    promise: 'X2',
    looked: `${recorded.length} histories`,
    found: failures.length === 0 ? 'all replay' : `${failures.length} do not: ${failures[0]}`,
    ok: failures.length === 0,
  };
}
