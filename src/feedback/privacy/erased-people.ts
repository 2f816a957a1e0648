import type { Transaction } from 'kysely';
import { batchesOf } from '../store/batches.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { keyedHash } from './keyed-hash.ts';
import { storeKey } from './store-key.ts';

type Db = Transaction<FeedbackDatabase>;

/** The names among `names` that belong to people erased from the project. `names` is called only if there are any. */
export async function erasedAmong(
  db: Db,
  project: string,
  names: () => Iterable<string>,
): Promise<ReadonlySet<string>> {
  if ((await erasuresOf(db, project).limit(1).executeTakeFirst()) === undefined) return new Set();
  const key = await storeKey(db);
  const byHash = new Map([...new Set(names())].map((name) => [keyedHash(key, name), name]));
  const erased = new Set<string>();
  for (const hashes of batchesOf([...byHash.keys()])) {
    for (const { contact } of await erasuresOf(db, project).where('contact', 'in', hashes).execute()) {
      const name = byHash.get(contact);
      if (name !== undefined) erased.add(name);
    }
  }
  return erased;
}

function erasuresOf(db: Db, project: string) {
  return db
    .selectFrom('erasures')
    .select('contact')
    .where((row) => row.or([row('project_id', 'is', null), row('project_id', '=', project)]));
}
