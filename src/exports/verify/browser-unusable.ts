import { ExplainedError } from '../../rules/explained-error.ts';

/** Pages cannot be rendered on this machine, for a reason that a person can fix. */
export class BrowserUnusable extends ExplainedError {
  override readonly name = 'BrowserUnusable';
  readonly code = 'BrowserUnusable';
  readonly hint: string;

  constructor(problem: string, hint: string) {
    super(problem);
    this.hint = hint;
  }
}
