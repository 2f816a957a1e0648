import type { FeedbackTable } from '../store/tables.ts';
import { facetsOf } from './entry-facets.ts';
import { textWords } from './text-words.ts';

/*
 * What both databases index of an entry: the same words in the same places, made here and not by their own parsers, which
 * differ. The limits are PostgreSQL's, and hold on SQLite too, so that both find the same.
 */

/** Of comment and code together. PostgreSQL knows places up to 16,383. */
export const mostWords = 16_000;
/** Bytes of UTF-8: PostgreSQL stores less than a MiB. */
const mostBytes = 600_000;
/** Places of one word: PostgreSQL stores up to 255. */
const mostPlaces = 250;

/** Stands where a word is not indexed, or between two texts: no search contains it. */
const gap = '~';

/** The words of an entry in their order, `gap` for those left out; then its facets. */
function indexedWords(row: FeedbackTable): { words: string[]; facets: string[] } {
  const words: string[] = [];
  const places = new Map<string, number>();
  let bytes = 0;
  for (const text of [row.comment, row.code]) {
    if (text === null) continue;
    if (words.length > 0) words.push(gap);
    for (const { word } of textWords(text, Math.max(0, mostWords - words.length))) {
      const known = places.get(word) ?? 0;
      places.set(word, known + 1);
      if (known === 0) bytes += Buffer.byteLength(word);
      if (bytes > mostBytes) break;
      words.push(known < mostPlaces ? word : gap);
    }
  }
  return { words, facets: facetsOf(row) };
}

/** For the tokenizer of SQLite, which splits at blanks alone. */
export function sqliteWords(row: FeedbackTable): string {
  const { words, facets } = indexedWords(row);
  return [...words, gap, ...facets].join(' ');
}

/** A `tsvector` as text. */
export function postgresWords(row: FeedbackTable): string {
  const { words, facets } = indexedWords(row);
  const places = new Map<string, number[]>();
  for (const [index, word] of words.entries()) {
    if (word === gap) continue;
    const found = places.get(word);
    if (found === undefined) places.set(word, [index + 1]);
    else found.push(index + 1);
  }
  return [...[...places].map(([word, at]) => `'${word}':${at.join(',')}`), ...facets.map((facet) => `'${facet}'`)].join(
    ' ',
  );
}
