import { Context } from '@temporalio/activity';
import { defaultLimits } from '../bundle/archive/entry-rules.ts';
import { NoSuchVersion, PointerMoved } from '../bundle/store/bundle-store.ts';
import { VersionDamaged } from '../bundle/store/store-errors.ts';
import { readManifest, verifyVersion } from '../bundle/store/verify-version.ts';
import { publishFailure } from './bundle-versions.ts';
import { type ActivityDependencies, requireStore } from './dependencies.ts';
import { permanent } from './failures.ts';
import { withHeartbeats } from './heartbeats.ts';

interface KeptVersion {
  domain: string;
  storeId: string;
  version: string;
}

export interface RollBackInput extends KeptVersion {
  reason: string | null;
  /** Fixed by the workflow, so that attempts agree. */
  at: number;
}

export interface RolledBack {
  contentDigest: string;
  pages: number;
  files: number;
  url: string;
}

/** Nobody but exports that are about to be held can move the pointer meanwhile. */
const tries = 5;

export const createRollbackActivities = (deps: ActivityDependencies) => ({
  /** Verifies a kept version anew, and tells what is current. Nothing is touched by one that its manifest does not describe. */
  async checkKeptVersion({ domain, storeId, version }: KeptVersion): Promise<{ current: string | null }> {
    requireStore('bundle', storeId, deps.bundles.identity);
    const { bundles } = deps;
    try {
      const check = async (signal: AbortSignal) => {
        const { files } = await readManifest(bundles, domain, version);
        // It was accepted by the rules and limits of its day; what counts now is that it is still the same.
        const unpacked = files.reduce((sum, { bytes }) => sum + bytes, 0);
        const maxBytes = Math.max(defaultLimits.maxBytes, unpacked);
        // Folders count too.
        const maxFiles = Math.max(defaultLimits.maxFiles, files.length * 10);
        const limits = { ...defaultLimits, maxBytes, maxFiles };
        const onProgress = () => Context.current().heartbeat({ version });
        await verifyVersion(bundles, domain, version, { limits, structureOnly: true, signal, onProgress });
        return { current: (await bundles.current(domain))?.version ?? null };
      };
      return await withHeartbeats(() => ({ version }), check);
    } catch (error) {
      throw keptFailure(error, domain);
    }
  },

  /** Holds the site at the version and makes it current: in this order, so that no export comes in between (E7). */
  async rollBackTo({ domain, storeId, version, reason, at }: RollBackInput): Promise<RolledBack> {
    requireStore('bundle', storeId, deps.bundles.identity);
    const { bundles } = deps;
    const move = async (): Promise<RolledBack> => {
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
      const { contentDigest, pages, files } = await readManifest(bundles, domain, version);
      return { contentDigest, pages, files: files.length, url: await bundles.urlOf(domain, version) };
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
