/** Result of asking the service whether it accepts an organization's key (`docferry doctor --key`). */
export type KeyCheck =
  | ({ outcome: 'accepted' } & Asked)
  /** `type` is one of the failure types, e.g. `Unauthorized`; the message may be shown. */
  | ({ outcome: 'refused'; type: string; message: string } & Asked)
  /** The budget had no request to spare: nothing was sent. Milliseconds since the epoch. */
  | { outcome: 'no-permit'; until: number }
  /** The organization has no project to ask for: nothing was sent. */
  | { outcome: 'no-project' };

interface Asked {
  project: string;
  /** How far the worker's clock is ahead of the service's, to the second; null when the service did not say. */
  clockAheadMs: number | null;
}
