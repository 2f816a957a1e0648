import { DefaultFailureConverter } from '@temporalio/common';

/*
 * Loaded by path: by workers whose payloads are encrypted, and into the bundle of workflows, where a setting of the worker
 * says whether they are (`workflowCode`). Node reads this file as it is, so it holds no types.
 */

/** Puts messages and stack traces of failures into payloads, which the codec then encrypts. */
export const failureConverter = new DefaultFailureConverter({
  encodeCommonAttributes: Reflect.get(globalThis, 'docferryEncodesFailures') === true,
});
