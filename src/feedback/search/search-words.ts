import { isKeyedHash } from '../privacy/personal-data.ts';
import { SearchRefused } from './feedback-search.ts';

/** A word as the index holds it, and its place in the text in UTF-16 units. */
export interface TextWord {
  /** Letters and digits in lower case without accents, or one emoji. */
  word: string;
  start: number;
  end: number;
  /** Of writing without blanks: two neighbouring characters, or the last one of a run (decisions/0120). */
  isPair: boolean;
}

/** Longer words are cut: they are data, not words. In characters. */
const longestWord = 64;

const unspaced = ['Han', 'Hira', 'Kana', 'Bopo', 'Hang', 'Thai', 'Laoo', 'Khmr', 'Mymr'];
const ofUnspaced = `[${unspaced.map((script) => `\\p{scx=${script}}`).join('')}]`;
/** In code points. A pattern that repeats without a limit throws once its way back through a text fills 64 MB. */
const longestPiece = 4_096;
const more = `{0,${longestPiece - 1}}`;
// `v` for differences of sets; written as text because the compiler knows it only of later targets.
const pieces = new RegExp(
  [
    `(?<run>[[\\p{L}\\p{N}]&&${ofUnspaced}][[\\p{L}\\p{N}\\p{M}]&&${ofUnspaced}]${more})`,
    `(?<plain>[[\\p{L}\\p{N}]--${ofUnspaced}][[\\p{L}\\p{N}\\p{M}]--${ofUnspaced}]${more})`,
    '(?<emoji>\\p{Extended_Pictographic}|\\p{RI}\\p{RI})',
  ].join('|'),
  'gv',
);

/** The words of a text in their order, at most `most`; none of a hashed one. Time in proportion to the text's length. */
export function* textWords(text: string, most = Number.POSITIVE_INFINITY): Generator<TextWord, void, undefined> {
  if (isKeyedHash(text)) return;
  let left = most;
  let plainEnd = 0;
  for (const found of text.matchAll(pieces)) {
    const isPlain = found.groups?.plain !== undefined;
    // The rest of a longer word, of which the first piece says enough.
    const isRest = isPlain && found.index === plainEnd && plainEnd > 0;
    if (isPlain) plainEnd = found.index + found[0].length;
    if (isRest) continue;
    for (const word of wordsOf(found)) {
      if (left === 0) return;
      left -= 1;
      yield word;
    }
  }
}

function wordsOf({ 0: piece, index: start, groups }: RegExpExecArray): TextWord[] {
  const end = start + piece.length;
  if (groups?.run !== undefined) return pairs(piece, start);
  const word = groups?.emoji ?? cut(folded(piece));
  return word === '' ? [] : [{ word, start, end, isPair: false }];
}

function pairs(run: string, start: number): TextWord[] {
  const same = run.normalize('NFKC') === run;
  const characters = [...(same ? run : folded(run))];
  const words: TextWord[] = [];
  let at = start;
  for (const [index, character] of characters.entries()) {
    const next = characters[index + 1] ?? '';
    // Where normalizing changed the run, all of it is shown as found.
    const [from, to] = same ? [at, at + character.length + next.length] : [start, start + run.length];
    words.push({ word: character + next, start: from, end: to, isPair: true });
    at += character.length;
  }
  return words;
}

/** Without case, accents and forms of the same letter: `Größe` and `GROSSE` are `grosse`. */
function folded(text: string): string {
  if (/^[a-z0-9]+$/.test(text)) return text;
  return text
    .normalize('NFKD')
    .replace(/[\u0300-\u036F]/g, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}\p{M}]/gu, '');
}

function cut(word: string): string {
  return word.length <= longestWord ? word : [...word].slice(0, longestWord).join('');
}

/** Words that must stand side by side in a text. */
export interface SearchPhrase {
  words: readonly string[];
  /** Words that begin like the last one count too. */
  isBeginning: boolean;
}

/** The longest search in UTF-16 units: more is pasted, not typed. */
const longestSearch = 1_000;

/** The shortest beginning of a word: too many words begin with less. In characters. */
const shortestBeginning = 2;

/** The most beginnings in a search: with a million entries four take half a second, in which SQLite blocks all else. */
const mostBeginnings = 4;

/** The most words of all phrases together. */
const mostWords = 100;

/** The text between blanks or quotes, and the `*` that follows it. */
const chunks = /"(?<quoted>[^"]*)"?(?<ofQuoted>\*?)|(?<bare>[^\s"]+)/gu;

/** The phrases that must all occur: `foo_bar()` is `foo` and `bar` side by side. Throws `SearchRefused`. */
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
  const phrases = [...new Map(found.map((phrase) => [JSON.stringify(phrase), phrase])).values()];
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
    // The text may continue where the search ends: of its last character only the pairs that begin with it count,
    // and none where an earlier pair ends with it.
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
