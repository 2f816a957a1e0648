/** The last `count` months of UTC up to that of `now`, such as `2026-11`, oldest first. */
export function lastMonths(now: Date, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (count - 1 - index)));
    return month.toISOString().slice(0, 7);
  });
}
