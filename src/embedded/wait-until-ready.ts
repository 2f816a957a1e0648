import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { reasonOf } from './embedded-errors.ts';
import { answers, loopbackAddress } from './ports.ts';
import { registerSearchAttributes, type SearchAttributes, setRetention } from './prepare-namespace.ts';

export interface Readiness {
  port: number;
  /** `host:port`; null for none. */
  ui: string | null;
  namespace: string;
  retentionDays: number;
  searchAttributes: SearchAttributes;
}

const retryMs = 50;
const connectTimeoutMs = 5_000;

/**
 * Resolves when the server answers, its namespace has the wanted retention and search attributes, and the UI, if there is one, answers.
 * Rejects with the last reason after `limitMs`, or as soon as `signal` aborts.
 */
export async function waitUntilReady(wanted: Readiness, limitMs: number, signal?: AbortSignal): Promise<void> {
  const giveUpAt = performance.now() + limitMs;
  for (;;) {
    try {
      return await prepare(wanted);
    } catch (error) {
      signal?.throwIfAborted();
      if (performance.now() > giveUpAt) {
        throw new Error(`was not ready after ${Math.round(limitMs / 1000)} s (${reasonOf(error)})`, { cause: error });
      }
    }
    await sleep(retryMs);
  }
}

async function prepare({ port, ui, namespace, retentionDays, searchAttributes }: Readiness): Promise<void> {
  // A gRPC channel waits a second after a refused connection.
  if (!(await answers(port))) throw new Error(`nothing answers on port ${port}`);
  // A proxy cannot reach this machine's loopback.
  const channelArgs = { 'grpc.enable_http_proxy': 0 };
  const connection = await Connection.connect({
    address: loopbackAddress(port),
    connectTimeout: connectTimeoutMs,
    channelArgs,
  });
  try {
    await connection.withDeadline(Date.now() + 5_000, async () => {
      await setRetention(connection, namespace, retentionDays);
      await registerSearchAttributes(connection, namespace, searchAttributes);
    });
  } finally {
    await connection.close();
  }
  if (ui === null) return;
  const answer = await fetch(`http://${ui}`, { signal: AbortSignal.timeout(connectTimeoutMs) });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`the UI answered ${answer.status}`);
}
