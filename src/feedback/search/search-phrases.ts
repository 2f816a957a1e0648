import { SearchRefused } from './feedback-search.ts';
import { textWords } from './text-words.ts';

/** Words that must stand side by side in a text. */
export interface SearchPhrase {
  words: readonly string[];
  /** Words that begin like the last one count too. */
  isBeginning: boolean;
}

/** In UTF-16 units: more is not typed but pasted. */
const longestSearch = 1_000;

/** Words that begin so are too many to look through. In characters. */
const shortestBeginning = 2;

/** Each goes through all words that begin so: of a million entries four take half a second, in which SQLite lets nothing else run. */
const mostBeginnings = 4;

/** In all phrases together. */
const mostWords = 100;

/** What stands between blanks or quotes, and the `*` behind it. */
const chunks = /"(?<quoted>[^"]*)"?(?<ofQuoted>\*?)|(?<bare>[^\s"]+)/gu;

/**
 * What a search text asks for: all of these phrases. `foo_bar()` is the words `foo` and `bar` side by side; punctuation
 * is ignored. Throws `SearchRefused`.
 */
export function searchPhrases(text: string): SearchPhrase[] {
  if (text.length > longestSearch) {
    const length = text.length.toLocaleString('en');
    throw new SearchRefused(
      'words',
      `the words to search for are ${length} characters long`,
      `Search for some of them: at most ${longestSearch.toLocaleString('en')} characters.`,
    );
  }
  const found = [...text.toWellFormed().matchAll(chunks)].flatMap(({ groups = {} }) => {
    const { quoted, ofQuoted, bare = '' } = groups;
    return phraseOf(quoted ?? bare, quoted === undefined ? bare.endsWith('*') : ofQuoted === '*');
  });
  const phrases = distinct(found);
  refuseWrongNumber(phrases);
  return phrases;
}

function refuseWrongNumber(phrases: readonly SearchPhrase[]): void {
  if (phrases.length === 0) {
    throw new SearchRefused(
      'words',
      'there is no word to search for',
      'Name at least one letter, digit or emoji; signs and quotes alone are not in the index.',
    );
  }
  const words = phrases.flatMap((phrase) => phrase.words).length;
  if (words > mostWords) {
    throw new SearchRefused('words', `there are ${words} words to search for`, `Name at most ${mostWords}.`);
  }
  // One character of Chinese is the beginning of pairs, which are few.
  const isOfWords = (last = '') => [...last].length >= shortestBeginning;
  const beginnings = phrases.filter(({ words: all, isBeginning }) => isBeginning && isOfWords(all.at(-1))).length;
  if (beginnings > mostBeginnings) {
    throw new SearchRefused(
      'words',
      `${beginnings} words end in *`,
      `Write some of them out: at most ${mostBeginnings} may end in *.`,
    );
  }
}

function phraseOf(text: string, hasStar: boolean): SearchPhrase[] {
  const found = [...textWords(text)];
  const last = found.at(-1);
  if (last === undefined) return [];
  const words = found.map(({ word }) => word);
  if (last.isPair) {
    // Where the search ends the text may continue: of the last character only pairs that begin with it say something,
    // and nothing where a pair before ends with it.
    const isSaid = found.at(-2)?.isPair === true && found.at(-2)?.end === last.end;
    return [{ words: isSaid ? words.slice(0, -1) : words, isBeginning: !isSaid }];
  }
  if (hasStar && [...last.word].length < shortestBeginning) {
    throw new SearchRefused(
      'words',
      `${JSON.stringify(`${last.word}*`)} would find too many words`,
      `Name at least ${shortestBeginning} characters before a *.`,
    );
  }
  return [{ words, isBeginning: hasStar }];
}

function distinct(phrases: readonly SearchPhrase[]): SearchPhrase[] {
  return [...new Map(phrases.map((phrase) => [JSON.stringify(phrase), phrase])).values()];
}
