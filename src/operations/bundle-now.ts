import type { Client, WorkflowHandle } from '@temporalio/client';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { optionalTsToMs } from '@temporalio/common/lib/time.js';
import type { ExportState } from '../exports/rules/site-export.ts';

type BundleNow = Partial<Pick<ExportState, 'phase' | 'download'>>;

/** Phase and progress of a bundle by the latest heartbeat, at most a few seconds old; empty when nothing is known. */
export async function bundleNow(client: Client, handle: WorkflowHandle): Promise<BundleNow> {
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
  return {};
}

/** Another version of the activity may have written the details, so they are checked. */
function readDetails(details: unknown, at: number): BundleNow {
  if (typeof details !== 'object' || details === null) return {};
  const { phase, offset, total, bytesPerSecond }: Record<string, unknown> = { ...details };
  if (phase === 'verifying' || phase === 'publishing') return { phase };
  if (phase !== 'fetching') return {};
  const known = (value: unknown) => (typeof value === 'number' && value > 0 ? value : null);
  const bytes = known(offset);
  if (bytes === null) return { phase };
  return { phase, download: { offset: bytes, total: known(total), bytesPerSecond: known(bytesPerSecond), at } };
}
