import type { Client } from '@temporalio/client';
import type { Sender } from '../model/deed.ts';
import { approveUpdate, rejectUpdate } from '../workflows/definitions.ts';
import { exportHandle } from './exports.ts';

/** Makes the waiting version current. Refused if none waits, or another one than named. */
export async function approveExport(
  client: Client,
  { org, domain, version }: { org: string; domain: string; version?: string },
  sender: Sender = {},
): Promise<{ version: string }> {
  const args: [{ version?: string }, Sender] = [version === undefined ? {} : { version }, sender];
  return exportHandle(client, org, domain).executeUpdate(approveUpdate, { args });
}

/** Ends the export with this reason and removes the waiting version. Refused as an approval is. */
export async function rejectExport(
  client: Client,
  { org, domain, reason, version }: { org: string; domain: string; reason: string; version?: string },
  sender: Sender = {},
): Promise<{ version: string }> {
  const answer = { reason, ...(version === undefined ? {} : { version }) };
  const args: [typeof answer, Sender] = [answer, sender];
  return exportHandle(client, org, domain).executeUpdate(rejectUpdate, { args });
}
