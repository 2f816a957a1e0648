import { Context } from '@temporalio/activity';
import { defaultLimits } from '../exports/archive/check-entry.ts';
import { NoSuchVersion, PointerMoved } from '../exports/store/bundle-store.ts';
import { provenManifest } from '../exports/store/proven-manifest.ts';
import { VersionDamaged } from '../exports/store/store-errors.ts';
import { verifyVersion } from '../exports/store/verify-version.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { permanent } from './history-safe-failures.ts';
import { publishFailure } from './bundle-failures.ts';
import { type StoredVersion, versionStep } from './version-step.ts';

export interface RollBackInput extends StoredVersion {
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

/** Only exports that are about to find the site held can move the pointer meanwhile. */
const tries = 5;

export const createRollbackActivities = (deps: ActivityDependencies) => ({
  /** Verifies a kept version again and tells the current one; touches nothing. */
  async checkKeptVersion(input: StoredVersion): Promise<{ current: string | null }> {
    const { bundles } = deps;
    const { domain, version } = input;
    const check = async (signal: AbortSignal) => {
      const { files } = await provenManifest(bundles, domain, version);
      // The rules and limits of its day accepted it: now only integrity counts. Folders count as files too.
      const unpacked = files.reduce((sum, { bytes }) => sum + bytes, 0);
      const maxBytes = Math.max(defaultLimits.maxBytes, unpacked);
      const maxFiles = Math.max(defaultLimits.maxFiles, files.length * 10);
      const limits = { ...defaultLimits, maxBytes, maxFiles };
      const onProgress = () => Context.current().heartbeat({ version });
      await verifyVersion(bundles, domain, version, { limits, structureOnly: true, signal, onProgress });
      return { current: (await bundles.current(domain))?.version ?? null };
    };
    return versionStep(deps, input, check, rollbackFailure);
  },

  /** Holds the site at the version, then makes it current: in this order, so that no export comes in between (E7). */
  async rollBackTo(input: RollBackInput): Promise<RolledBack> {
    const { bundles } = deps;
    const { domain, version, reason, at } = input;
    const move = async (): Promise<RolledBack> => {
      const manifest = await provenManifest(bundles, domain, version);
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
      const { contentDigest, pages, files } = manifest;
      return { contentDigest, pages, files: files.length, url: bundles.urlOf(domain, manifest) };
    };
    return versionStep(deps, input, move, rollbackFailure);
  },
});

/** A version named by a person can be wrong in ways that an export's own version cannot. */
function rollbackFailure(error: unknown, domain: string): Error {
  if (error instanceof NoSuchVersion) return permanent('NoSuchVersion', error.message);
  if (error instanceof VersionDamaged) return permanent('VersionDamaged', error.message);
  return publishFailure(error, domain);
}
