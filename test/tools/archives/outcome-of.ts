import { verifyBytes } from '../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from './bytes-in-memory.ts';
import type { Refusal } from './refusals.ts';

const usualLimits = { maxBytes: 10_000_000, maxFiles: 100, maxRatio: 200 };

/** The rules by which an archive is refused, comma-separated; `accepted` when it is not. */
export async function outcomeOf({ archive, limits, timeLimitMs }: Refusal): Promise<string> {
  const report = await verifyBytes(bytesInMemory(archive), {
    limits: { ...usualLimits, ...limits },
    structureOnly: true,
    ...(timeLimitMs !== undefined && { timeLimitMs }),
  });
  return report.ok ? 'accepted' : report.reasons.map(({ rule }) => rule).join(', ');
}
