import { type ActivityDependencies, requireStore } from './dependencies.ts';
import { withHeartbeats } from './heartbeats.ts';
import { publishFailure } from './bundle-failures.ts';

/** A version in the store that the run began with. */
export interface StoredVersion {
  domain: string;
  storeId: string;
  version: string;
}

/** Does `work` on a version with heartbeats, in the store the run began with. */
export async function versionStep<Result>(
  deps: ActivityDependencies,
  { domain, storeId, version }: StoredVersion,
  work: (signal: AbortSignal) => Promise<Result>,
  failureOf: (error: unknown, domain: string) => Error = publishFailure,
): Promise<Result> {
  requireStore('bundle', storeId, deps.bundles);
  try {
    return await withHeartbeats(() => ({ version }), work);
  } catch (error) {
    throw failureOf(error, domain);
  }
}
