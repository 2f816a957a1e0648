import { ExplainedError } from '../../rules/errors.ts';

/** The database cannot be used as it is: names the place, what is wrong and what to do about it. */
export class FeedbackStoreUnavailable extends ExplainedError {
  override readonly name = 'FeedbackStoreUnavailable';
  readonly code = 'StoreUnavailable';
  /** The file, or the address without password. */
  readonly place: string;
  /** Ends the message too, for logs that show the message alone. */
  readonly hint: string;

  constructor(place: string, problem: string, hint: string, options?: { cause: unknown }) {
    super(`feedback store ${place}: ${problem}. ${hint}`, options);
    this.place = place;
    this.hint = hint;
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
