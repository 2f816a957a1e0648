import { ExplainedError } from '../rules/errors.ts';

/** One thing that is wrong with the configuration (X3). */
export interface ConfigProblem {
  /** Path of the field, e.g. `organizations[0].budget.requests`; empty for the file as a whole. */
  path: string;
  /** Its place in the file, counted from 1; null when it has none. */
  position: { line: number; column: number } | null;
  /** What the field contains, if that may be shown, and what is allowed. */
  message: string;
}

/** The configuration cannot be used. The message lists every problem, and never contains a secret. */
export class ConfigError extends ExplainedError {
  override readonly name = 'ConfigError';
  readonly code = 'InvalidConfiguration';
  readonly problems: readonly ConfigProblem[];

  constructor(title: string, problems: readonly ConfigProblem[] = [], hint: string | null = null) {
    super([title, ...problems.map(describeProblem)].join('\n  '), hint);
    this.problems = problems;
  }
}

function describeProblem({ path, position, message }: ConfigProblem): string {
  const place = position === null ? '' : `line ${position.line}, column ${position.column}`;
  if (path === '') return place === '' ? message : `${place}: ${message}`;
  return place === '' ? `${path}: ${message}` : `${path} (${place}): ${message}`;
}
