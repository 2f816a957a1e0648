/** The database cannot be used as it is: names the file, what is wrong and what to do about it. */
export class FeedbackStoreUnavailable extends Error {
  override readonly name = 'FeedbackStoreUnavailable';
  readonly file: string;
  /** The next step for a person. */
  readonly fix: string;

  constructor(file: string, problem: string, fix: string, options?: { cause: unknown }) {
    super(`feedback store ${file}: ${problem}. ${fix}`, options);
    this.file = file;
    this.fix = fix;
  }
}
