/** The database cannot be used as it is: names the place, what is wrong and what to do about it. */
export class FeedbackStoreUnavailable extends Error {
  override readonly name = 'FeedbackStoreUnavailable';
  /** The file, or the address without password. */
  readonly place: string;
  /** The next step for a person. */
  readonly fix: string;

  constructor(place: string, problem: string, fix: string, options?: { cause: unknown }) {
    super(`feedback store ${place}: ${problem}. ${fix}`, options);
    this.place = place;
    this.fix = fix;
  }
}
