import type { Transaction } from 'kysely';
import { storeKey } from '../database/store-key.ts';
import type { FeedbackDatabase } from '../database/tables.ts';
import { keyedHash } from './keyed-hash.ts';

type Db = Transaction<FeedbackDatabase>;

/** Names a statement. */
const namesPerStatement = 500;

/**
 * Those of `names` that belong to people who were erased from the project. `names` is asked for only where anybody was.
 */
export async function erasedAmong(
  db: Db,
  project: string,
  names: () => Iterable<string>,
): Promise<ReadonlySet<string>> {
  if ((await erasuresOf(db, project).limit(1).executeTakeFirst()) === undefined) return new Set();
  const key = await storeKey(db);
  const byHash = new Map([...new Set(names())].map((name) => [keyedHash(key, name), name]));
  const hashes = [...byHash.keys()];
  const erased = new Set<string>();
  for (let start = 0; start < hashes.length; start += namesPerStatement) {
    const part = hashes.slice(start, start + namesPerStatement);
    for (const { contact } of await erasuresOf(db, project).where('contact', 'in', part).execute()) {
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
