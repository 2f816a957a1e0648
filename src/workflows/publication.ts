import { CancellationScope, condition, isCancellation, log, patched } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import type { ApprovalAnswer, RejectionAnswer } from '../exports/rules/export-messages.ts';
import {
  returnFrom,
  type StepTaken,
  type TakeStep,
  type TargetSteps,
  takeSteps,
} from '../exports/rules/rollout-steps.ts';
import {
  becomesCurrent,
  changesText,
  type ExportInput,
  type ExportProgress,
  longestReason,
  type Reason,
  type RolloutResult,
  reasonText,
} from '../exports/rules/site-export.ts';
import { withoutFailureType } from '../rules/errors.ts';
import { spanText, summaryText } from '../rules/text.ts';
import { type ExportView, WaitsInNextRun } from './export-job.ts';
import {
  discardDownload,
  failureSummary,
  failureType,
  hurry,
  invalidInput,
  isOfBuild,
  leavesBuild,
  requireNotCancelled,
  rolloutOptions,
  runStep,
  type Sent,
  type SitePlan,
  storeOptions,
  wholeVersionOptions,
} from './kit.ts';
import { writeAuditEntry } from './runs.ts';

/** A version that waits for this long gets a second notice. */
const remindAfterMs = 86_400_000;
/** How often a wait looks for another build: a week-long one every 100 min. */
const looksForBuild = 100;

/** Waits for a person's decision about a published version on a durable timer (E6, `approval: manual`). */
export class Approval {
  readonly #input: ExportInput;
  readonly #view: ExportView;
  #decision: 'approved' | Reason | null = null;
  #kept: Promise<void> | null = null;

  constructor(input: ExportInput, view: ExportView) {
    this.#input = input;
    this.#view = view;
  }

  approve(sent: Sent): { version: string } {
    return this.#decide('approved', sent);
  }

  reject({ reason }: RejectionAnswer, sent: Sent): { version: string } {
    const detail = reason.trim();
    return this.#decide({ rule: 'not-approved', path: null, detail }, { ...sent, reason: detail });
  }

  /** The audit has been handed the decision: the run may end. */
  async kept(): Promise<void> {
    await this.#kept;
  }

  /** Throws when no version waits, or when the person named none or another one. */
  requireWaiting({ version }: ApprovalAnswer): void {
    const { approval } = this.#view;
    if (approval === null) throw invalidInput('no version waits for approval');
    if (this.#decision !== null) throw invalidInput(`${approval.version} has already been decided`);
    if (version === undefined) throw invalidInput(`version: expected ${approval.version}, which waits for approval`);
    if (version !== approval.version) throw invalidInput(`${approval.version} waits for approval, not ${version}`);
  }

  requireReason(answer: RejectionAnswer): void {
    this.requireWaiting(answer);
    const { length } = answer.reason.trim();
    if (length === 0) throw invalidInput('a rejection needs a reason');
    if (length > longestReason)
      throw invalidInput(`the reason has ${length} characters, expected at most ${longestReason}`);
  }

  /**
   * Null when the version is approved in time, else why it is rejected. Sends a notice at once and another after a day.
   * Throws `WaitsInNextRun` when another build became current.
   */
  async wait(storeId: string, version: string, bundle: VerifiedBundle, limitMs: number): Promise<Reason | null> {
    const { asks } = bundle;
    const { org, domain, awaited } = this.#input;
    const against = bundle.current?.version ?? null;
    const describe = (summary: string, timeoutMs: number, again: string | null) =>
      runStep('describeChanges', storeOptions, summary, {
        org,
        domain,
        storeId,
        version,
        against,
        timeoutMs,
        asks,
        again,
      });
    let approval = awaited?.approval;
    if (approval === undefined) {
      const changes = await describe(`compare ${version} with the current version`, limitMs, null);
      const since = Date.now();
      approval = { version, since, expiresAt: since + limitMs, asks, changes };
      this.#view.awaitApproval(approval);
    }
    const { since, expiresAt, changes } = approval;
    const waitMs = expiresAt - since;
    const why = [...asks.map(reasonText), changesText(changes)].join('; ');
    const summary = summaryText(`approve or reject ${version}: ${why}`);
    let remindAt = awaited?.reminded ? expiresAt : since + remindAfterMs;
    let reminding = false;
    try {
      while (this.#decision === null && Date.now() < expiresAt) {
        if (Date.now() >= remindAt) {
          remindAt = expiresAt;
          reminding = true;
          // A decision does not wait for it.
          describe(`say again that ${version} waits`, waitMs, new Date(since).toISOString())
            .catch((failure: unknown) =>
              log.warn('people were not reminded of the version that waits', { failure: failureSummary(failure) }),
            )
            .finally(() => {
              reminding = false;
            });
        }
        const nextMs = Math.min(expiresAt, remindAt) - Date.now();
        // The server says only with a task that another build became current.
        const lookMs = isOfBuild() ? waitMs / looksForBuild : nextMs;
        await condition(() => this.#decision !== null, Math.min(nextMs, lookMs), { summary });
        if (this.#decision !== null || reminding || !leavesBuild()) continue;
        requireNotCancelled();
        throw new WaitsInNextRun({ awaited: { approval, bundle, reminded: remindAt === expiresAt } });
      }
    } finally {
      this.#view.awaitApproval(null);
    }
    if (this.#decision !== null) hurry();
    if (this.#decision === 'approved') return null;
    const detail = `not approved within ${spanText(waitMs)}`;
    return this.#decision ?? { rule: 'approval-expired', path: null, detail };
  }

  #decide(decision: 'approved' | Reason, sent: Sent): { version: string } {
    const version = this.#view.approval?.version ?? '';
    this.#decision = decision;
    const { org, domain } = this.#input;
    const action = decision === 'approved' ? 'approve' : 'reject';
    this.#kept = writeAuditEntry({ ...sent, action, org, subject: domain, detail: JSON.stringify({ version }) });
    return { version };
  }
}

export type FetchedBundle = Awaited<ReturnType<Activities['fetchBundle']>>;
export type VerifiedBundle = FetchedBundle & { ok: true };

/** A verified bundle that was published, perhaps on a held site, or rejected by a person. */
type Placed = { url: string; heldAt: string | null } | { reason: Reason };

/** Takes an export's version from the download into the store and, with a person's approval, into service. */
export class Publication {
  readonly #input: ExportInput;
  readonly #progress: ExportProgress;
  readonly #approval: Approval;
  readonly #stageId: string;
  /** A published version without approval yet: removed if the run ends without it. */
  #unapproved: string | null;
  /** What the run leaves in the store. */
  published: { version: string; contentDigest: string; url: string } | null = null;

  constructor(input: ExportInput, progress: ExportProgress, approval: Approval, stageId: string) {
    this.#input = input;
    this.#progress = progress;
    this.#approval = approval;
    this.#stageId = stageId;
    this.#unapproved = input.awaited?.approval.version ?? null;
  }

  /** Publishes what is not yet, waits for approval if asked, moves the pointer; on a held site the release decides. */
  async put(version: string, bundle: VerifiedBundle, { always, timeoutMs }: SitePlan['approval']): Promise<Placed> {
    const { org, domain, parameters } = this.#input;
    const { storeId } = this.#progress;
    const asks = this.#unapproved !== null || (becomesCurrent(parameters) && (always || bundle.asks.length > 0));
    const promote = { expected: bundle.current, publishedAt: Date.now() };
    if (asks) this.#unapproved = version;
    const publish = () =>
      runStep('publishVersion', wholeVersionOptions, `publish ${version}`, {
        org,
        domain,
        storeId,
        stageId: this.#stageId,
        seal: bundle.seal,
        version,
        promote: becomesCurrent(parameters) ? promote : null,
        awaitsApproval: asks,
      });
    const published = bundle.published ?? (await publish());
    const { url, heldAt } = published;
    this.published = { version, contentDigest: bundle.contentDigest, url };
    if (heldAt !== null) this.#unapproved = null;
    // Only once the publication has succeeded: a retry needs the download.
    await this.discardStaged();
    if (!asks || heldAt !== null) return { url, heldAt };
    const reason = await this.#approval.wait(storeId, version, { ...bundle, published }, timeoutMs);
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
    await runStep('withdrawVersion', storeOptions, `remove ${version}`, {
      domain,
      storeId: this.#progress.storeId,
      stageId: this.#stageId,
      version,
    });
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
    return runStep('promoteVersion', storeOptions, `approved: ${version} becomes current`, {
      domain,
      storeId: this.#progress.storeId,
      stageId: this.#stageId,
      version,
      promote,
    });
  }
}

interface RolloutSite {
  org: string;
  domain: string;
  storeId: string;
  targets: readonly TargetSteps[];
}

export interface WantedRollout {
  version: string;
  /** What readers get so far; null when nothing is known of it. */
  previous: string | null;
  force: boolean;
  /** Whether the site is held at the version. */
  held: boolean;
  /** Steps of targets that already run the version, and are left alone. */
  known?: readonly StepTaken[];
}

/** As `takeSteps`: rolls the version out to the targets of the site; `held`: to all of them, whatever a check says. */
export function rollOutToTargets(
  site: RolloutSite,
  { known, held, ...wanted }: WantedRollout,
  onResults: (results: RolloutResult[]) => void,
): Promise<StepTaken[]> {
  const goesOn = () => held && patched('held-versions-reach-all-targets');
  return takeSteps(site.targets, taker(site, wanted), known, onResults, goesOn);
}

/** As `returnFrom`, even in a run that was cancelled: half a return would leave readers with the refused version. */
export function returnToBefore(
  site: RolloutSite,
  version: string,
  taken: readonly StepTaken[],
  refused: StepTaken,
): ReturnType<typeof returnFrom> {
  const { domain, storeId, targets } = site;
  const summary = `${domain} returns to the version before ${version}`;
  return CancellationScope.nonCancellable(() =>
    returnFrom(version, taken, refused, {
      targets,
      moveBack: async (reason) => {
        const input = { domain, storeId, version, reason, at: Date.now() };
        return (await runStep('returnToVersionBefore', storeOptions, summary, input)).version;
      },
      takeWith: (back) => taker(site, { version: back, previous: version, force: false }),
      problemOf: (error) => withoutFailureType(failureSummary(error)),
    }),
  );
}

function taker({ org, domain, storeId }: RolloutSite, wanted: Omit<WantedRollout, 'known' | 'held'>): TakeStep {
  return async ({ target, step }) => {
    const summary = `${wanted.version} to ${target}${step === 'place' ? '' : `: ${step}`}`;
    try {
      return await runStep('rollOut', rolloutOptions[step], summary, { org, domain, storeId, ...wanted, target, step });
    } catch (error) {
      if (isCancellation(error)) throw error;
      const blames = failureType(error) === 'VersionRefused' ? 'version' : 'target';
      return { target, step, outcome: 'failed', detail: withoutFailureType(failureSummary(error)), blames };
    }
  };
}
