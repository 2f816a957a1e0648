import { permitClasses } from '../../budget/rules/permits.ts';
import { oneOf, own, type Reader, record, text, writing } from '../../rules/messages.ts';
import { readingKinds } from './pass-kind.ts';
import type { SyncInput } from './sync.ts';

/** Shape of the input of `syncFeedback` (X5). */
export const readSyncInput: Reader<SyncInput> = record(
  { org: text, project: text, pass: oneOf(readingKinds), class: oneOf(permitClasses) },
  {
    from: writing,
    to: writing,
    handover: own<SyncInput['handover']>(),
    carried: own<SyncInput['carried']>(),
  },
);
