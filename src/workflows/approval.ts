import { condition, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { spanText, summaryText } from '../rules/details-text.ts';
import type { Reason } from '../exports/rules/archive-facts.ts';
import { changesText } from '../exports/rules/content-changes.ts';
import type { ApprovalAnswer, RejectionAnswer } from '../exports/rules/export-messages.ts';
import { type ExportInput, longestReason } from '../exports/rules/site-export.ts';
import { storeOptions } from './activity-options.ts';
import { refusal, type Sent } from './handle-messages.ts';
import { keepDeed } from './record-deed.ts';
import type { ExportView } from './export-view.ts';

const stores = proxyActivities<Pick<Activities, 'describeChanges'>>(storeOptions);

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
    if (approval === null) throw refusal('no version waits for approval');
    if (this.#decision !== null) throw refusal(`${approval.version} has already been decided`);
    if (version === undefined) throw refusal(`version: expected ${approval.version}, which waits for approval`);
    if (version !== approval.version) throw refusal(`${approval.version} waits for approval, not ${version}`);
  }

  requireReason(answer: RejectionAnswer): void {
    this.requireWaiting(answer);
    const { length } = answer.reason.trim();
    if (length === 0) throw refusal('a rejection needs a reason');
    if (length > longestReason) throw refusal(`the reason has ${length} characters, expected at most ${longestReason}`);
  }

  /** Null when the version is approved in time, else why it is rejected. */
  async wait(ask: {
    storeId: string;
    version: string;
    against: string | null;
    timeoutMs: number;
  }): Promise<Reason | null> {
    const { storeId, version, against, timeoutMs } = ask;
    const { org, domain } = this.#input;
    const changes = await stores.describeChanges.executeWithOptions(
      { ...storeOptions, summary: `compare ${version} with the current version` },
      [{ org, domain, storeId, version, against, timeoutMs }],
    );
    const since = Date.now();
    this.#view.awaitApproval({ version, since, expiresAt: since + timeoutMs, changes });
    try {
      await condition(() => this.#decision !== null, timeoutMs, {
        summary: summaryText(`approve or reject ${version}: ${changesText(changes)}`),
      });
    } finally {
      this.#view.awaitApproval(null);
    }
    if (this.#decision === 'approved') return null;
    const detail = `not approved within ${spanText(timeoutMs)}`;
    return this.#decision ?? { rule: 'approval-expired', path: null, detail };
  }

  #decide(decision: 'approved' | Reason, sent: Sent): { version: string } {
    const version = this.#view.approval?.version ?? '';
    this.#decision = decision;
    const { org, domain } = this.#input;
    const action = decision === 'approved' ? 'approve' : 'reject';
    this.#kept = keepDeed({ ...sent, action, org, subject: domain, detail: JSON.stringify({ version }) });
    return { version };
  }
}
