import type { Client } from '@temporalio/client';
import { connectClient } from '../temporal/temporal-connection.ts';
import type { Config } from '../config/config.ts';

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
