import { type RawBuilder, sql } from 'kysely';

/** Whether the moment in a column lies between two bounds, the upper one exclusive; null or undefined for no bound. */
export function within(
  column: string,
  from: string | null | undefined,
  to: string | null | undefined,
): RawBuilder<boolean> {
  const bounds = [sql`true`];
  if (from) bounds.push(sql`${sql.ref(column)} >= ${from}`);
  if (to) bounds.push(sql`${sql.ref(column)} < ${to}`);
  return sql.join(bounds, sql` and `);
}
