/*
 * The key of an entry in the index is its place in the order of answers: the second of its date and a number that tells
 * entries of one second apart. The greatest place is the newest entry; those without a date have negative places, by the
 * second in which they were first seen. A place fits into 53 bits, which JavaScript and both databases take as a number.
 */

/** Entries of one second at most: a service that sends dates without a time puts a whole day's into one. */
const placesOfSecond = 2 ** 20;
const latestSecond = 2 ** 32 - 1;
const undatedFrom = -(2 ** 52);

/** The first place of the second of a date, UTC ISO 8601. Dates before 1970 and after 2106 count as those. */
export function placeOfDate(date: string): number {
  const second = Math.floor(Date.parse(date) / 1000);
  return Math.min(Math.max(second, 0), latestSecond) * placesOfSecond;
}

export interface Dated {
  created_at_utc: string | null;
  first_seen_at: string;
}

/** Draws in one second before the next one is tried. */
const drawsPerSecond = 8;

/** A place for an entry that is perhaps taken: draw again then. A crowded second hands on to the next. */
export function drawPlace({ created_at_utc, first_seen_at }: Dated, draws: number): number {
  const base = created_at_utc === null ? undatedFrom + placeOfDate(first_seen_at) : placeOfDate(created_at_utc);
  return base + Math.floor(Math.random() * placesOfSecond) + Math.floor(draws / drawsPerSecond) * placesOfSecond;
}
