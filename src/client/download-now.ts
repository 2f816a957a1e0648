import type { Client, WorkflowHandle } from '@temporalio/client';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import type { Transfer } from '../model/export/transfer.ts';

/** Progress of an export's download by its latest heartbeat, at most a few seconds old; null when unknown. */
export async function downloadNow(client: Client, handle: WorkflowHandle): Promise<Transfer | null> {
  const { raw } = await handle.describe();
  for (const { activityType, heartbeatDetails, lastHeartbeatTime } of raw.pendingActivities ?? []) {
    if (activityType?.name !== 'fetchBundle') continue;
    const details = await decodeFromPayloadsAtIndex<unknown>(
      client.options.loadedDataConverter,
      0,
      heartbeatDetails?.payloads,
    );
    return readDetails(details, optionalTsToMs(lastHeartbeatTime) ?? Date.now());
  }
  return null;
}

/** Another version of the activity may have written the details, so they are checked. */
function readDetails(details: unknown, at: number): Transfer | null {
  if (typeof details !== 'object' || details === null) return null;
  const { offset, total, bytesPerSecond }: Record<string, unknown> = { ...details };
  const known = (value: unknown) => (typeof value === 'number' && value > 0 ? value : null);
  const bytes = known(offset);
  return bytes === null ? null : { offset: bytes, total: known(total), bytesPerSecond: known(bytesPerSecond), at };
}
