import { Context } from '@temporalio/activity';
import { NoSuchVersion, PointerMoved } from '../bundle/bundle-store.ts';
import { checkVersion } from '../bundle/check-version.ts';
import { DEFAULT_LIMITS } from '../bundle/entry-rules.ts';
import { VersionDamaged } from '../bundle/store-errors.ts';
import { publishFailure } from './bundle-versions.ts';
import { type ActivityDependencies, requireStore, siteOf } from './dependencies.ts';
import { permanent } from './failures.ts';
import { withHeartbeats } from './heartbeats.ts';

export interface RollBackInput {
  org: string;
  domain: string;
  storeId: string;
  version: string;
  reason: string | null;
  /** Fixed by the workflow, so that attempts agree. */
  at: number;
}

export interface RolledBack {
  /** What was current before; null when nothing was. */
  previous: string | null;
  contentDigest: string;
  pages: number;
  files: number;
  url: string;
}

/** Nobody but exports that are about to be held can move the pointer meanwhile. */
const tries = 5;

export const createRollbackActivities = (deps: ActivityDependencies) => ({
  /** Verifies a kept version anew, whole. Nothing is touched by one that is not what its manifest says. */
  async checkKeptVersion({ org, domain, storeId, version }: Omit<RollBackInput, 'reason' | 'at'>): Promise<void> {
    requireStore('bundle', storeId, deps.bundles.identity);
    const site = siteOf(deps, org, domain);
    try {
      await withHeartbeats(
        () => ({ version }),
        (signal) =>
          checkVersion(deps.bundles, domain, version, {
            limits: { ...DEFAULT_LIMITS, maxBytes: site.maxBytes, maxFiles: site.maxFiles },
            siteRules: site.siteRules,
            domain,
            signal,
            onProgress: () => Context.current().heartbeat({ version }),
          }),
      );
    } catch (error) {
      throw keptFailure(error, domain);
    }
  },

  /** Holds the site at the version and makes it current: in this order, so that no export comes in between (E7). */
  async rollBackTo({ domain, storeId, version, reason, at }: RollBackInput): Promise<RolledBack> {
    requireStore('bundle', storeId, deps.bundles.identity);
    const { bundles } = deps;
    const move = async (): Promise<RolledBack> => {
      const previous = (await bundles.current(domain))?.version ?? null;
      await bundles.holds.place(domain, { version, reason, at: new Date(at) });
      for (let left = tries; ; left -= 1) {
        const epoch = (await bundles.current(domain))?.epoch ?? 0;
        try {
          await bundles.moveCurrent(domain, version, epoch, new Date(at));
          break;
        } catch (error) {
          if (!(error instanceof PointerMoved) || left <= 1) throw error;
        }
      }
      const { contentDigest, pages, files } = await bundles.manifest(domain, version);
      return { previous, contentDigest, pages, files: files.length, url: await bundles.urlOf(domain, version) };
    };
    try {
      return await withHeartbeats(() => ({ version }), move);
    } catch (error) {
      throw keptFailure(error, domain);
    }
  },
});

/** A version that a person names may be wrong in ways an export's own never is. */
function keptFailure(error: unknown, domain: string): Error {
  if (error instanceof NoSuchVersion) return permanent('NoSuchVersion', error.message);
  if (error instanceof VersionDamaged) return permanent('VersionDamaged', error.message);
  return publishFailure(error, domain);
}
