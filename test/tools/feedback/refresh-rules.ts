import { type Cut, listCutter, type RefreshPage } from '../../../src/feedback/rules/refresh/pages.ts';
import type { Lesson, RefreshEntry, Tallies } from '../../../src/feedback/rules/refresh/rates.ts';

/** Cuts the lists of a project into pages: its entries by date, newest first, those without a date anywhere. */
export function cutPages(
  project: string,
  entries: Iterable<RefreshEntry>,
  cut: Cut,
  before: readonly RefreshPage[] = [],
): RefreshPage[] {
  const lists = listCutter(project, cut);
  for (const entry of entries) lists.add(entry);
  return lists.pages(before);
}

/** The tallies with what was seen. */
export function taught(tallies: Tallies, lessons: readonly Lesson[]): Tallies {
  const sums = tallies.map((tally) => ({ ...tally }));
  for (const { kind, changes, hours } of lessons) {
    const sum = sums[kind];
    if (sum === undefined) continue;
    sum.changes += changes;
    sum.hours += hours;
  }
  return sums;
}
