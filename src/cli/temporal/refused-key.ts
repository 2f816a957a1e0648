import type { Client } from '@temporalio/client';
import { CliFailure } from '../failures/cli-failure.ts';
import { exitCodes } from '../failures/exit-codes.ts';

const answerWithinMs = 5_000;

/** A run that somebody is about to wait for. */
export interface WaitedRun<State> {
  org: string;
  /** True when it ran before the command. */
  joined: boolean;
  read: () => Promise<State>;
  /** When a refused key is tried next; null while it works. */
  refusedOf: (state: State) => number | null;
}

/**
 * Tells from a state whether the waiting should end because the service refuses the key (architecture.md). A joined run may
 * know an older refusal: the key is tried again at once, and only what comes of that counts.
 */
export async function refusedKey<State>(
  client: Client,
  { org, joined, read, refusedOf }: WaitedRun<State>,
): Promise<(state: State, cancel: string) => CliFailure | null> {
  // Without a worker nobody answers, and nothing is known.
  const asked = joined ? client.withDeadline(Date.now() + answerWithinMs, read) : null;
  const known = asked && (await asked.then(refusedOf, () => null));
  if (known !== null) {
    const { retryKey } = await import('../../client/retry-key.ts');
    await retryKey(client, org);
  }
  return (state, cancel) => {
    const refused = refusedOf(state);
    return refused === null || refused === known ? null : keyRefused(org, cancel);
  };
}

function keyRefused(org: string, cancel: string): CliFailure {
  return new CliFailure({
    code: 'Unauthorized',
    message: `the service does not accept the API key of ${org} (401); the run waits until it does`,
    hint:
      'correct organizations[].apiKey (a key from a file is read again by itself, for one from the environment restart ' +
      `the worker): the run then goes on by itself, or cancel it with \`${cancel}\``,
    exitCode: exitCodes.failed,
  });
}
