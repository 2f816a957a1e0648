/**
 * Does the work for all items, at most `size` at a time: a slow one holds up no other. Results are in the order of the
 * items. Once one has failed no other begins; it throws that failure when all that had begun have ended.
 */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  size: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const failures: unknown[] = [];
  const lane = async () => {
    for (const [index, item] of left) {
      if (failures.length > 0) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(size, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}
