import type { Client } from '@temporalio/client';
import { retryKey } from '../budget/client.ts';
import type { Config } from '../config/config.ts';
import { connectClient } from '../temporal/connection.ts';
import { type CliFailure, operationFailure } from './context.ts';

/** A configuration and a connection to its Temporal. */
export interface Session {
  config: Config;
  client: Client;
}

/** Connects for as long as the work takes. Throws `TemporalUnreachable`. */
export async function withTemporal<Result>(
  config: Config,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const client = await connectClient(config.temporal);
  try {
    return await work({ config, client });
  } finally {
    await client.connection.close();
  }
}

const keyAnswerWithinMs = 5_000;

interface WaitedRun<State> {
  org: string;
  /** True when it ran before the command. */
  joined: boolean;
  read: () => Promise<State>;
  /** When a refused key is tried again; null while it works. */
  refusedOf: (state: State) => number | null;
}

/**
 * Tells from a state whether to stop waiting because the service refuses the key. A joined run may know an
 * older refusal: the key is then tried again at once, and only the result of that counts.
 */
export async function refusedKey<State>(
  client: Client,
  { org, joined, read, refusedOf }: WaitedRun<State>,
): Promise<(state: State, cancel: string) => CliFailure | null> {
  // Without a worker there is no answer, and nothing is known.
  const asked = joined ? client.withDeadline(Date.now() + keyAnswerWithinMs, read) : null;
  const known = asked && (await asked.then(refusedOf, () => null));
  if (known !== null) await retryKey(client, org);
  return (state, cancel) => {
    const refused = refusedOf(state);
    return refused === null || refused === known ? null : keyRefused(org, cancel);
  };
}

function keyRefused(org: string, cancel: string): CliFailure {
  return operationFailure(
    'Unauthorized',
    `the service does not accept the API key of ${org} (401); the run waits until it does`,
    'put a working key into organizations[].apiKey and restart the worker; or, if the key is in a file, replace the file ' +
      `and run \`docferry doctor --key\`. The run then goes on. To stop it, use \`${cancel}\``,
  );
}
