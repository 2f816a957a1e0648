/** A rollout would destroy something in the target, or cannot write to it; the message says what. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}
