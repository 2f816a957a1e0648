import { ExplainedError } from '../../rules/errors.ts';

/** The database cannot be used as it is: names the place, what is wrong and what to do about it. */
export class FeedbackStoreUnavailable extends ExplainedError {
  override readonly name = 'FeedbackStoreUnavailable';
  readonly code = 'StoreUnavailable';
  /** The file, or the address without password. */
  readonly place: string;

  constructor(place: string, problem: string, hint: string, options?: { cause: unknown }) {
    // For logs that show the message alone.
    super(`feedback store ${place}: ${problem}. ${hint}`, hint, options);
    this.place = place;
  }
}

/** A database without our tables: only a worker makes them. */
export function withoutAudit(place: string): FeedbackStoreUnavailable {
  return new FeedbackStoreUnavailable(
    place,
    'it has no audit yet',
    'Start a worker of this version: it makes the tables.',
  );
}
