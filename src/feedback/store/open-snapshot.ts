import type { ControlledTransaction, Kysely } from 'kysely';
import type { FeedbackDatabase } from './tables.ts';

/** A transaction that sees the store at one moment and writes nothing; `rollback` ends it. */
export function openSnapshot(db: Kysely<FeedbackDatabase>): Promise<ControlledTransaction<FeedbackDatabase>> {
  return db.startTransaction().setIsolationLevel('repeatable read').setAccessMode('read only').execute();
}
