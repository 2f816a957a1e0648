/** Pages cannot be rendered on this machine for a reason that a person must fix. */
export class BrowserUnusable extends Error {
  override readonly name = 'BrowserUnusable';
  readonly fix: string;

  constructor(problem: string, fix: string) {
    super(problem);
    this.fix = fix;
  }
}
