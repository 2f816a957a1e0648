const collator = new Intl.Collator('en', { numeric: true });

/** The order in which people look for names: docs2 before docs10. Equal only for equal names. */
export function naturalOrder(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
