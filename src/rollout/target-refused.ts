/** The target holds something that a rollout would have to destroy, or cannot be written; the message says what. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}
