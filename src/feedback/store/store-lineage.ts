import { randomUUID } from 'node:crypto';
import type { Db, Trx } from './tables.ts';

/** Whose successor a store is. A restored or moved store has a new identity, so that the original's is retired. */
interface StoreLineage {
  /** Random id written when the database was made; workflows pin it (`StoreMismatch`). */
  readonly identity: string;
  /** Identities of the stores it was restored or moved from, the first one first: it continues their runs. */
  readonly predecessors: readonly string[];
  /** When it was last restored from a backup; what its predecessor did since the backup is unknown (B7). */
  readonly restoredAt: Date | null;
}

export type Succession = 'restored' | 'moved';

/** The installation that uses a budget: the same for a store and its successors (budget.md). */
export function installationOf({ identity, predecessors }: StoreLineage): string {
  return predecessors[0] ?? identity;
}

/** The first process to ask makes the identity; only `succeed` changes it afterwards. */
export async function storeLineage(trx: Trx): Promise<StoreLineage> {
  await trx
    .insertInto('store_identity')
    .values({ only_row: 1, identity: randomUUID() })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { identity } = await trx.selectFrom('store_identity').select('identity').executeTakeFirstOrThrow();
  const retired = await trx.selectFrom('retired_identities').selectAll().orderBy('place').execute();
  const restored = retired.findLast(({ reason }) => reason === 'restored');
  return {
    identity,
    predecessors: retired.map((row) => row.identity),
    restoredAt: restored === undefined ? null : new Date(restored.retired_at),
  };
}

/** Gives a copy of a store its own identity, and retires the one it came with. */
export async function succeed(db: Db, reason: Succession, at: Date): Promise<void> {
  const { identity } = await db.selectFrom('store_identity').select('identity').executeTakeFirstOrThrow();
  const { known } = await db
    .selectFrom('retired_identities')
    .select((of) => of.fn.countAll<number | string>().as('known'))
    .executeTakeFirstOrThrow();
  await db
    .insertInto('retired_identities')
    .values({ place: Number(known) + 1, identity, retired_at: at.toISOString(), reason })
    .execute();
  await db.updateTable('store_identity').set({ identity: randomUUID() }).execute();
}
