import { errorCode } from '../files.ts';
import { ExplainedError } from '../rules/errors.ts';

/** A failure of the embedded Temporal server that a person can fix. */
class EmbeddedError extends ExplainedError {
  readonly code: string;

  constructor(code: string, message: string, hint: string, options?: ErrorOptions) {
    super(message, hint, options);
    this.name = code;
    this.code = code;
  }
}

/** An attempt to find or make a program, and why it failed. */
export interface FailedAttempt {
  step: string;
  reason: string;
}

/** No usable Temporal program was found, downloaded or built. */
export class TemporalBinaryMissing extends EmbeddedError {
  readonly tried: readonly FailedAttempt[];

  constructor(title: string, tried: readonly FailedAttempt[], waysOut: readonly string[]) {
    const lines = tried.map(({ step, reason }) => `\n  - ${step}: ${reason}`);
    super(
      'TemporalBinaryMissing',
      `no usable ${title}. Tried:${lines.join('')}`,
      `do one of these:${waysOut.map((way) => `\n  - ${way}`).join('')}`,
    );
    this.tried = tried;
  }
}

/** The folder of the server's database, or the database itself, cannot be written. */
export class DataFolderNotWritable extends EmbeddedError {
  constructor(path: string, cause: unknown) {
    const code = errorCode(cause);
    super(
      'DataFolderNotWritable',
      `cannot write ${path}${code === undefined ? '' : ` (${code})`}`,
      'make it writable for this user, or keep the database elsewhere with --db',
      { cause },
    );
  }
}

/** Another process that is still alive runs the server of this database. */
export class DatabaseInUse extends EmbeddedError {
  constructor(dbFile: string, owner: number | undefined) {
    super(
      'DatabaseInUse',
      `${dbFile} is in use by another docferry${owner === undefined ? '' : ` (process ${owner})`}`,
      'stop that one first; two that share an API key exceed its limit, so a second needs a folder and a key of its own',
    );
  }
}

/** The server ended or did not become ready. */
export class DevServerFailed extends EmbeddedError {
  constructor(what: string, logFile: string, lastLines: readonly string[]) {
    const shown = lastLines.map((line) => `\n  ${line}`).join('');
    super('DevServerFailed', `the Temporal server ${what}${shown && `. Last lines:${shown}`}`, `see ${logFile}`);
  }
}

/** One line saying what went wrong, for lists of reasons. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
