import type { Config } from '../config/config.ts';
import type { OpenAudit } from '../feedback/store/audit-records.ts';
import { openAudit } from '../feedback/store/open-feedback-store.ts';
import type { AuditEntry } from '../runs/rules/audit.ts';
import { auditRows, type OwnAuditEntry } from '../runs/rules/own-audit-entries.ts';
import { type ActorFlags, actorOf } from './actor.ts';
import type { CommandContext } from './context.ts';
import { explainFailure } from './explain-failure.ts';

/**
 * Keeps in the audit what a command does, while it does it: rows are written at once, those that come meanwhile together
 * with the next ones. What was done stays done when the store is away: then a warning says that the audit lacks it.
 */
export class AuditKeeper {
  readonly #context: CommandContext;
  readonly #config: Config;
  readonly #flags: ActorFlags;
  readonly #waiting: AuditEntry[] = [];
  #audit: OpenAudit | null = null;
  #writing: Promise<void> | null = null;
  #failure: { error: unknown } | null = null;

  constructor(context: CommandContext, config: Config, flags: ActorFlags) {
    this.#context = context;
    this.#config = config;
    this.#flags = flags;
  }

  keep(auditEntries: readonly OwnAuditEntry[]): void {
    this.#waiting.push(...auditRows(auditEntries, actorOf(this.#flags), new Date()));
    // After a failure the rest waits for the end: a store that is away would be asked for each audit entry.
    if (auditEntries.length === 0 || this.#failure !== null || this.#writing !== null) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
    });
  }

  /** Writes what is left; once, also what could not be written before. */
  async end(): Promise<void> {
    await this.#writing;
    this.#failure = null;
    await this.#write();
    await this.#audit?.close();
    if (this.#failure !== null) this.#warn(this.#failure);
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        this.#audit ??= await openAudit(this.#config.store.feedback);
        const rows = [...this.#waiting];
        await this.#audit.recordAuditEntries(rows);
        this.#waiting.splice(0, rows.length);
      }
    } catch (error) {
      this.#failure = { error };
    }
  }

  #warn({ error }: { error: unknown }): void {
    const { message, hint } = explainFailure(error);
    const why = hint === null ? message : `${message.replace(/\.$/, '')}. ${hint}`;
    this.#context.output.warn(`it is done, but \`docferry audit\` will not show it: ${why}`);
  }
}

/** Keeps in the audit what a command did. */
export async function writeAudit(
  context: CommandContext,
  config: Config,
  flags: ActorFlags,
  auditEntries: readonly OwnAuditEntry[],
): Promise<void> {
  const keeper = new AuditKeeper(context, config, flags);
  keeper.keep(auditEntries);
  await keeper.end();
}
