import type { FoundText } from './feedback-search.ts';
import { mostWords } from './indexed-words.ts';
import type { SearchPhrase } from './search-phrases.ts';
import { type TextWord, textWords } from './text-words.ts';

type Mark = readonly [start: number, end: number];

/** Of an excerpt, in UTF-16 units, and how much of it stands before what was found first. */
const longestExcerpt = 1_000;
const before = 200;

/** A stored text as an answer shows it: around the first hit, or from its beginning if there is none. */
export function foundText(text: string | null, phrases: readonly SearchPhrase[]): FoundText | null {
  if (text === null) return null;
  const marks = marksIn(text, phrases);
  const [first] = marks;
  const from = text.length <= longestExcerpt || first === undefined ? 0 : startOf(text, first[0]);
  const end = whole(text, Math.min(text.length, from + longestExcerpt));
  return {
    text: text.slice(from, end),
    from,
    length: text.length,
    marks: marks.flatMap(([start, stop]) =>
      start < end && stop > from ? [[Math.max(start, from) - from, Math.min(stop, end) - from] as const] : [],
    ),
  };
}

/** Where the phrases stand in a text, in order and apart; beyond the words that are indexed nothing is looked for. */
export function marksIn(text: string, phrases: readonly SearchPhrase[]): Mark[] {
  if (phrases.length === 0) return [];
  const words = [...textWords(text, mostWords)];
  // A text of thousands of words is not compared with a hundred phrases word by word.
  const anywhere: SearchPhrase[] = [];
  const byFirst = new Map<string | undefined, SearchPhrase[]>();
  for (const phrase of phrases) {
    const [first, ...others] = phrase.words;
    if (phrase.isBeginning && others.length === 0) anywhere.push(phrase);
    else byFirst.set(first, [...(byFirst.get(first) ?? []), phrase]);
  }
  const found = words.flatMap((word, index) =>
    [...anywhere, ...(byFirst.get(word.word) ?? [])].flatMap((phrase) => markAt(words, index, word, phrase)),
  );
  return apart(found);
}

function markAt(words: readonly TextWord[], index: number, first: TextWord, phrase: SearchPhrase): Mark[] {
  const last = index + phrase.words.length - 1;
  const isThere = phrase.words.every((word, offset) => {
    const there = words[index + offset]?.word;
    return phrase.isBeginning && index + offset === last ? there?.startsWith(word) === true : there === word;
  });
  const end = words[last];
  if (!isThere || end === undefined) return [];
  // Of a pair looked for by its first character, that one alone.
  const isHalf = end.isPair && phrase.isBeginning && end.end - end.start === end.word.length;
  return [[first.start, isHalf ? end.start + (phrase.words.at(-1) ?? '').length : end.end]];
}

function apart(marks: readonly Mark[]): Mark[] {
  const joined: [number, number][] = [];
  for (const [start, end] of marks.toSorted(([a], [b]) => a - b)) {
    const last = joined.at(-1);
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}

/** Some text before the hit, from the beginning of a word if one is near. */
function startOf(text: string, found: number): number {
  const from = Math.max(0, found - before);
  const blank = text.slice(from, found).search(/\s/u);
  return from === 0 || blank === -1 ? whole(text, from) : from + blank + 1;
}

/** Not between the halves of a surrogate pair. */
function whole(text: string, at: number): number {
  return /[\uDC00-\uDFFF]/.test(text.charAt(at)) && /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) ? at - 1 : at;
}
