/** Rows a statement: 18 columns of 500 rows stay far below the parameters both databases allow (32,766 and 65,535). */
export const rowsPerStatement = 500;

/** Items in batches that one statement can take. */
export function batchesOf<T>(items: readonly T[]): T[][] {
  const batches: T[][] = [];
  for (let at = 0; at < items.length; at += rowsPerStatement) batches.push(items.slice(at, at + rowsPerStatement));
  return batches;
}
