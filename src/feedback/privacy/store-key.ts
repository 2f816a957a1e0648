import { randomBytes } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { FeedbackDatabase } from '../store/tables.ts';

/**
 * The store's own key, made when it is first needed. This store recognises what is hashed under it, whatever happens to
 * `privacy.hashKey` (decisions/0044).
 */
export async function storeKey(trx: Transaction<FeedbackDatabase>): Promise<string> {
  const find = () => trx.selectFrom('store_key').select('key').executeTakeFirst();
  const found = await find();
  if (found !== undefined) return found.key;
  await trx
    .insertInto('store_key')
    .values({ only_row: 1, key: randomBytes(32).toString('hex') })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return (await find())?.key ?? '';
}
