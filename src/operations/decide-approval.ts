import type { Client } from '@temporalio/client';
import type { Sender } from '../runs/rules/audit.ts';
import { approveUpdate, rejectUpdate } from '../definitions.ts';
import { exportHandle } from './exports.ts';

/**
 * Makes the waiting version current. Refused if none waits, or another one than named. Sent again with the same `updateId`,
 * it is answered as it was the first time.
 */
export async function approveExport(
  client: Client,
  { org, domain, version }: { org: string; domain: string; version: string },
  sender: Sender = {},
  updateId?: string,
): Promise<{ version: string }> {
  const args: [{ version: string }, Sender] = [{ version }, sender];
  return exportHandle(client, org, domain).executeUpdate(approveUpdate, { args, ...withId(updateId) });
}

/** Ends the export with this reason and removes the waiting version. Refused as an approval is. */
export async function rejectExport(
  client: Client,
  { org, domain, reason, version }: { org: string; domain: string; reason: string; version: string },
  sender: Sender = {},
  updateId?: string,
): Promise<{ version: string }> {
  const args: [{ version: string; reason: string }, Sender] = [{ version, reason }, sender];
  return exportHandle(client, org, domain).executeUpdate(rejectUpdate, { args, ...withId(updateId) });
}

const withId = (updateId: string | undefined) => (updateId === undefined ? {} : { updateId });
