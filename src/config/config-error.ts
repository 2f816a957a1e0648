import { ExplainedError } from '../model/explained-error.ts';

/** One thing that is wrong with the configuration (X3). */
export interface ConfigProblem {
  /** Path of the field, e.g. `organizations[0].budget.requests`; empty for the file as a whole. */
  path: string;
  /** Where it stands in the file, counted from 1; null where no place can be named. */
  position: { line: number; column: number } | null;
  /** What it held, if that may be shown, and what is allowed. */
  message: string;
}

/** The configuration cannot be used. The message lists every problem; it never holds a secret. */
export class ConfigError extends ExplainedError {
  override readonly name = 'ConfigError';
  readonly code = 'InvalidConfiguration';
  readonly problems: readonly ConfigProblem[];
  readonly hint: string | null;

  constructor(title: string, problems: readonly ConfigProblem[] = [], hint: string | null = null) {
    super([title, ...problems.map(describeProblem)].join('\n  '));
    this.problems = problems;
    this.hint = hint;
  }
}

function describeProblem({ path, position, message }: ConfigProblem): string {
  const place = position === null ? '' : `line ${position.line}, column ${position.column}`;
  if (path === '') return place === '' ? message : `${place}: ${message}`;
  return place === '' ? `${path}: ${message}` : `${path} (${place}): ${message}`;
}
