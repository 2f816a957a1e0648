import type { Command } from 'commander';
import { createColors } from 'picocolors';
import stringWidth from 'string-width';
import type { Config } from '../config/config.ts';
import { ExplainedError } from '../rules/errors.ts';
import { counted, visibleJson, visibleText } from '../rules/text.ts';

/** What every command is given. */
export interface CommandContext {
  output: Output;
  configFile: string | undefined;
  env: NodeJS.ProcessEnv;
  cwd: string;
}

/** The configuration for a command that needs no API key. Throws `ConfigError`. */
export async function loadContextConfig(
  { configFile, env, cwd }: CommandContext,
  secrets: 'required' | 'gateway' | 'deferred' = 'deferred',
): Promise<Config> {
  // Help needs this file, but no reader of configurations.
  const { loadConfig } = await import('../config/load.ts');
  return loadConfig({ env, cwd, secrets, ...(configFile === undefined ? {} : { file: configFile }) });
}

/** What a file of commands exports: for each of its commands what declares its arguments, flags, help and handler. */
export type CommandFile = Readonly<Record<string, (command: Command, run: RunHandler) => void>>;

/** Makes a command's action of a handler, which takes the context, bound values, and what the command line gave. */
export type RunHandler = <Bound extends unknown[], Given extends unknown[]>(
  handler: (context: CommandContext, ...args: [...Bound, ...Given]) => Ending,
  ...bound: Bound
) => (...given: Given) => Promise<void>;

const declarations = new WeakMap<Command, () => Promise<void>>();

/** Leaves a command with its name and summary until `declared` is called. */
export function declareLater(command: Command, declare: () => Promise<void>): void {
  declarations.set(command, declare);
}

/** Completes a command from its file, once. */
export async function declared(command: Command): Promise<Command> {
  const declare = declarations.get(command);
  declarations.delete(command);
  await declare?.();
  return command;
}

/** Exit codes scripts rely on (contracts.md). */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  temporalUnreachable: 3,
  noSuchThing: 4,
  stillRunning: 5,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Where an error's or workflow's own code names a failure whose exit code is not 1. */
const exitCodeOfFailure: ReadonlyMap<string, ExitCode> = new Map([
  ['EncryptionKeyMissing', exitCodes.usage],
  ['EncryptionUnusable', exitCodes.usage],
  ['InvalidConfiguration', exitCodes.usage],
  ['ScheduleRefused', exitCodes.usage],
  ['TemporalNotFound', exitCodes.usage],
  ['TemporalSettingsInvalid', exitCodes.usage],
  ['TemporalRefused', exitCodes.temporalUnreachable],
  ['TemporalUnreachable', exitCodes.temporalUnreachable],
  ['NoSuchVersion', exitCodes.noSuchThing],
  ['NotFound', exitCodes.noSuchThing],
  ['NotHeld', exitCodes.noSuchThing],
  ['NotRunning', exitCodes.noSuchThing],
  ['UnknownProject', exitCodes.noSuchThing],
  ['UnknownSchedule', exitCodes.noSuchThing],
  ['UnknownSite', exitCodes.noSuchThing],
]);

/** How a command ends: with this code, 0 when there is none. */
export type Ending = Promise<ExitCode> | Promise<void>;

/** How a command failed, in the form that people and scripts see (contracts.md `{error: {code, message, hint}}`). */
export interface Failure {
  /** Stable name for scripts. */
  code: string;
  message: string;
  /** What to do next; null when the message says it. */
  hint: string | null;
  exitCode: ExitCode;
}

/** A failure that the command line itself found. */
export class CliFailure extends ExplainedError implements Failure {
  override readonly name = 'CliFailure';
  readonly code: string;
  readonly exitCode: ExitCode;

  constructor({ code, message, hint, exitCode }: Failure) {
    super(message, hint);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** A failure with the exit code that belongs to its code. */
export function failureOf(code: string, message: string, hint: string | null = null): Failure {
  return { code, message, hint, exitCode: exitCodeOfFailure.get(code) ?? exitCodes.failed };
}

/** The operation failed. */
export function operationFailure(code: string, message: string, hint: string | null = null): CliFailure {
  return new CliFailure({ code, message, hint, exitCode: exitCodes.failed });
}

/** The command line is wrong; the message names the flag or argument. */
export function usageFailure(message: string, hint: string | null = null): CliFailure {
  return new CliFailure({ code: 'Usage', message, hint, exitCode: exitCodes.usage });
}

/** The named thing does not exist. */
export function noSuchThing(code: string, message: string, hint: string | null = null): CliFailure {
  return new CliFailure({ code, message, hint, exitCode: exitCodes.noSuchThing });
}

/** What an error says about itself. A message may end with the hint, which is then said once. */
export function explainedFailure(error: ExplainedError): Failure {
  if (error instanceof CliFailure) return error;
  const { code, message, hint } = error;
  return failureOf(code, hint === null ? message : message.replace(` ${hint}`, ''), hint);
}

/** The colours of our own texts (picocolors); no foreign text can do harm with them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with the escape character
const colour = /(\u001b\[(?:[0-2]|22|3[0-79]|9[0-7])m)/;

/** A text that may quote an archive, the service or a person, without control characters but colours where there are any. */
export function safeForTerminal(text: string, coloured: boolean): string {
  if (!coloured) return visibleText(text);
  const parts = text.split(colour);
  return parts.map((part, index) => (index % 2 === 1 ? part : visibleText(part))).join('');
}

export interface OutputStream {
  write(text: string | Uint8Array, done?: (error?: Error | null) => void): unknown;
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

export interface OutputOptions {
  json: boolean;
  quiet: boolean;
  /** False for `--no-color`. */
  color: boolean;
  env: NodeJS.ProcessEnv;
  stdout: OutputStream;
  stderr: OutputStream;
}

export type Paint = ReturnType<typeof createColors>;

/** What a text is drawn on. */
export interface Surface {
  paint: Paint;
  /** Infinite unless it is a terminal. */
  columns: number;
}

/** The size of the surface that a person sees at once. */
export interface Screen extends Surface {
  /** Infinite unless it is a terminal. */
  rows: number;
}

/**
 * The only place that prints, and so the place where control characters end. Results go to stdout, with `--json` as exactly one document; notes, warnings and progress go
 * to stderr (contracts.md).
 */
export class Output {
  readonly json: boolean;
  readonly quiet: boolean;
  /** False when plain text is wanted (`--no-color`, `NO_COLOR`, a dumb terminal): then without bars. */
  readonly draws: boolean;
  /** Colours for results. */
  readonly paint: Paint;
  /** Colours for notes, warnings and progress. */
  readonly paintNotes: Paint;
  readonly #stdout: OutputStream;
  readonly #stderr: OutputStream;
  readonly #redraws: boolean;
  #live: LiveView | null = null;
  #documentPrinted = false;

  constructor({ json, quiet, color, env, stdout, stderr }: OutputOptions) {
    this.json = json;
    this.quiet = quiet;
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#redraws = stderr.isTTY === true && env.TERM !== 'dumb';
    this.draws = color && !env.NO_COLOR && env.TERM !== 'dumb';
    this.paint = createColors(this.draws && stdout.isTTY === true);
    this.paintNotes = createColors(this.draws && stderr.isTTY === true);
  }

  /** Where results are drawn. */
  get surface(): Screen {
    return { paint: this.paint, ...sizeOf(this.#stdout) };
  }

  /** Where progress is drawn. */
  get surfaceOfNotes(): Screen {
    return { paint: this.paintNotes, ...sizeOf(this.#stderr) };
  }

  /** True when a person sees stdout. */
  get toTerminal(): boolean {
    return this.#stdout.isTTY === true;
  }

  /** The command's result: the document with `--json`, else the text. */
  result(document: object, text: string): void {
    if (this.json) this.#document(document);
    else this.#stdout.write(`${safeForTerminal(text, this.paint.isColorSupported)}\n`);
  }

  /** A line of the result of a command that keeps running, e.g. its addresses; on stderr with `--json`. */
  say(line: string): void {
    if (this.json) this.#stderr.write(`${this.#safe(line)}\n`);
    else this.#stdout.write(`${safeForTerminal(line, this.paint.isColorSupported)}\n`);
  }

  /**
   * A piece of a result that is data for another program; resolves when it is written, to false when the reader has
   * closed the pipe. Any other error is also emitted by the stream and ends the process (`run.ts`), so that it is
   * reported once.
   */
  data(piece: string | Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      const shown = this.toTerminal && typeof piece === 'string' ? visibleText(piece) : piece;
      this.#stdout.write(shown, (error) => {
        if (!error) resolve(true);
        else if ('code' in error && error.code === 'EPIPE') resolve(false);
      });
    });
  }

  /** Progress or advice; nothing with `--quiet`. */
  note(line: string): void {
    if (!this.quiet) this.#aside(line);
  }

  warn(line: string): void {
    this.#aside(`${this.paintNotes.yellow('warning:')} ${line}`);
  }

  /** Help for a person who named no command; nothing with `--json`. */
  help(text: string): void {
    if (!this.json) this.#aside(`${text.trimEnd()}\n`);
  }

  failure({ code, message, hint, exitCode }: Failure, stack: string | null): void {
    if (this.json && !this.#documentPrinted) this.#document({ error: { code, message, hint } });
    else {
      // Work that continues is not an error to a person who stopped waiting for it.
      const label = exitCode === exitCodes.stillRunning ? 'note:' : this.paintNotes.red('error:');
      this.#aside(`${label} ${message}`);
      if (hint !== null) this.#aside(`${this.paintNotes.cyan('hint:')} ${hint}`);
    }
    if (stack !== null) this.#aside(stack);
  }

  /** Lines of progress: redrawn in place on a terminal, one for each step elsewhere, none with `--quiet`. */
  async startLive(): Promise<LiveView> {
    if (this.quiet) return { show() {}, ended() {}, write() {}, end() {} };
    const live = this.#redraws
      ? await redrawnLines(this.#stderr as NodeJS.WriteStream, () => this.surfaceOfNotes)
      : plainLines((line) => this.#aside(line));
    if (this.#redraws) this.#live = live;
    return {
      show: (label, { key, text, line }) => {
        const safe = { key, text: this.#safe(text) };
        live.show(this.#safe(label), line === undefined ? safe : { ...safe, line: this.#safe(line) });
      },
      ended: (label, text) => live.ended(this.#safe(label), this.#safe(text)),
      write: (text) => live.write(this.#safe(text)),
      end: () => {
        live.end();
        this.#live = null;
      },
    };
  }

  /** Shows progress for as long as the work takes. */
  async showing<Result>(work: (live: LiveView) => Promise<Result>): Promise<Result> {
    const live = await this.startLive();
    return work(live).finally(() => live.end());
  }

  #document(document: object): void {
    if (this.#documentPrinted) throw new Error('a command has one JSON document as its result');
    this.#documentPrinted = true;
    this.#stdout.write(`${visibleJson(JSON.stringify(document, null, 2))}\n`);
  }

  #aside(line: string): void {
    const safe = this.#safe(line);
    if (this.#live) this.#live.write(safe);
    else this.#stderr.write(`${safe}\n`);
  }

  /** Whatever the text for stderr quotes, it cannot command a terminal. */
  #safe(text: string): string {
    return safeForTerminal(text, this.paintNotes.isColorSupported);
  }
}

/** Size of a terminal; infinite for anything else. */
function sizeOf({ isTTY, columns, rows }: OutputStream): { columns: number; rows: number } {
  const known = (count: number | undefined) => (isTTY === true && count ? count : Number.POSITIVE_INFINITY);
  return { columns: known(columns), rows: known(rows) };
}

/** As many lines as a terminal shows at once, with long ones broken; the last one says how many are left out. */
export function fittingLines(
  text: string,
  { paint, columns, rows }: Screen,
  leftOut: (lines: number) => string,
): string {
  const lines = text.split('\n');
  const heights = lines.map((line) => Math.max(1, Math.ceil(stringWidth(line) / columns)));
  if (heights.reduce((all, height) => all + height, 0) <= rows) return text;
  let [count, used] = [0, 1];
  while (used + (heights[count] ?? 0) <= rows) {
    used += heights[count] ?? 0;
    count += 1;
  }
  return [...lines.slice(0, count), paint.dim(`  … ${leftOut(lines.length - count)}`)].join('\n');
}

/** The present state of something in progress. */
export interface Step {
  /** Off a terminal, a step is printed only when this changes. */
  key: string;
  /** For a terminal, redrawn in place. */
  text: string;
  /** For a log; the text by default. */
  line?: string;
}

/** Where steps are shown during a wait. */
export interface LiveView {
  /** Lines of parallel work have different labels. */
  show(label: string, step: Step): void;
  /** The work of this label has ended: its last line stays, above those that are redrawn. */
  ended(label: string, text: string): void;
  /** A line that stays. */
  write(text: string): void;
  end(): void;
}

/** One line for each change of a step. */
function plainLines(print: (line: string) => void): LiveView {
  const shown = new Map<string, string>();
  return {
    show(label, { key, text, line }) {
      if (shown.get(label) === key) return;
      shown.set(label, key);
      print(`${label}: ${line ?? text}`);
    },
    ended: (label, text) => print(`${label}: ${text}`),
    write: print,
    end() {},
  };
}

/** A line for each label, redrawn in place, or a table of as many as the terminal shows; needs a terminal. */
async function redrawnLines(stream: NodeJS.WriteStream, screen: () => Screen): Promise<LiveView> {
  const [{ createLogUpdate }, layout] = await Promise.all([import('log-update'), import('./terminal/text.ts')]);
  const update = createLogUpdate(stream);
  const texts = new Map<string, string>();
  const draw = () => {
    const lines = [...texts];
    if (lines.length < 2) {
      update(lines.map((line) => line.join('  ')).join(''));
      return;
    }
    const { columns, rows, paint } = screen();
    const half = Math.floor(columns / 2);
    const cells = lines.map(([label, text]) => [layout.printable(label, half), text]);
    const table = layout.tableLines(['', ''], cells, columns);
    update(fittingLines(table, { paint, columns, rows: rows - 1 }, (count) => counted(count, 'more line')));
  };
  const write = (text: string) => {
    update.persist(text);
    draw();
  };
  return {
    show(label, { text }) {
      texts.set(label, text);
      draw();
    },
    ended(label, text) {
      texts.delete(label);
      write(`${label}  ${text}`);
    },
    write,
    end() {
      texts.clear();
      update.clear();
      update.done();
    },
  };
}
