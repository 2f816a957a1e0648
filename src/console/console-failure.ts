import { longestReason } from '../exports/rules/site-export.ts';
import { ExplainedError } from '../rules/errors.ts';

/** What the console itself refuses. */
export class ConsoleFailure extends ExplainedError {
  override readonly name = 'ConsoleFailure';
  readonly code: string;

  constructor(code: string, message: string, hint: string | null = null) {
    super(message, hint);
    this.code = code;
  }
}

/** A field of a form that must be there. */
export function required(form: URLSearchParams, name: string): string {
  const value = form.get(name) ?? '';
  if (value !== '') return value;
  throw new ConsoleFailure('Incomplete', `the form lacks "${name}"`, 'go back, reload the page and try again');
}

/** A reason as a person gave it, without what cannot be seen; null when it is empty. */
export function reasonIn(form: URLSearchParams): string | null {
  const reason = (form.get('reason') ?? '').trim();
  if (reason.length > longestReason) {
    const problem = `the reason is longer than ${longestReason} characters`;
    throw new ConsoleFailure('TooLong', problem, 'go back and shorten it');
  }
  return reason === '' ? null : reason;
}
