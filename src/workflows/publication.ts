import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import type { Reason } from '../exports/rules/archive-facts.ts';
import { becomesCurrent, type ExportInput, type ExportProgress } from '../exports/rules/site-export.ts';
import { storeOptions, wholeVersionOptions } from './activity-options.ts';
import { discardDownload } from './passing-steps.ts';
import type { Approval } from './approval.ts';

export type FetchedBundle = Awaited<ReturnType<Activities['fetchBundle']>>;
export type VerifiedBundle = FetchedBundle & { ok: true };

const publications =
  proxyActivities<Pick<Activities, 'publishVersion' | 'promoteVersion' | 'withdrawVersion'>>(storeOptions);

/** A verified bundle that was published, perhaps on a held site, or rejected by a person. */
export type Placed = { url: string; heldAt: string | null } | { reason: Reason };

/** Takes an export's version from the download into the store and, with a person's approval, into service. */
export class Publication {
  readonly #input: ExportInput;
  readonly #progress: ExportProgress;
  readonly #approval: Approval;
  readonly #stageId: string;
  /** A published version without approval yet: removed if the run ends without it. */
  #unapproved: string | null = null;
  /** What the run leaves in the store. */
  published: { version: string; contentDigest: string; url: string } | null = null;

  constructor(input: ExportInput, progress: ExportProgress, approval: Approval, stageId: string) {
    this.#input = input;
    this.#progress = progress;
    this.#approval = approval;
    this.#stageId = stageId;
  }

  /** Keeps a version whose content has not changed: there is nothing to publish. */
  keep(version: string, contentDigest: string, url: string): void {
    this.published = { version, contentDigest, url };
  }

  /**
   * Publishes what the fetch has not, waits up to `approvalMs` for a person's approval if that is not null, and moves the
   * pointer. On a held site the version waits for the release, without approval.
   */
  async put(version: string, bundle: VerifiedBundle, approvalMs: number | null): Promise<Placed> {
    const { org, domain, parameters } = this.#input;
    const { storeId } = this.#progress;
    const asks = approvalMs !== null && becomesCurrent(parameters);
    const promote = { expected: bundle.current, publishedAt: Date.now() };
    if (asks) this.#unapproved = version;
    const publish = () =>
      publications.publishVersion.executeWithOptions({ ...wholeVersionOptions, summary: `publish ${version}` }, [
        {
          org,
          domain,
          storeId,
          stageId: this.#stageId,
          seal: bundle.seal,
          version,
          promote: becomesCurrent(parameters) ? promote : null,
          awaitsApproval: asks,
        },
      ]);
    const { url, heldAt } = bundle.published ?? (await publish());
    this.published = { version, contentDigest: bundle.contentDigest, url };
    if (heldAt !== null) this.#unapproved = null;
    // Only once the publication has succeeded: a retry needs the download.
    await this.discardStaged();
    if (!asks || heldAt !== null) return { url, heldAt };
    const against = bundle.current?.version ?? null;
    const reason = await this.#approval.wait({ storeId, version, against, timeoutMs: approvalMs });
    if (reason) {
      await this.withdraw();
      return { reason };
    }
    this.#unapproved = null;
    return { url, ...(await this.#promote(version, bundle.current)) };
  }

  /** Removes an unapproved version: copies of it would push out good versions (decisions/0074). */
  async withdraw(): Promise<void> {
    const version = this.#unapproved;
    if (version === null) return;
    const { domain } = this.#input;
    await publications.withdrawVersion.executeWithOptions({ ...storeOptions, summary: `remove ${version}` }, [
      { domain, storeId: this.#progress.storeId, version },
    ]);
    this.#unapproved = null;
    this.published = null;
  }

  /** Removes the download. A failure is only logged. */
  discardStaged(): Promise<void> {
    return discardDownload(this.#progress.storeId, this.#stageId);
  }

  async #promote(version: string, expected: VerifiedBundle['current']): Promise<{ heldAt: string | null }> {
    const { domain } = this.#input;
    const promote = { expected, publishedAt: Date.now() };
    return publications.promoteVersion.executeWithOptions(
      { ...storeOptions, summary: `approved: ${version} becomes current` },
      [{ domain, storeId: this.#progress.storeId, version, promote }],
    );
  }
}
