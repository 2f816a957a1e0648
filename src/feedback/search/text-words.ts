import { isKeyedHash } from '../privacy/keyed-hash.ts';

/** A word of a text as the index has it, and where it stands in the text in UTF-16 units. */
export interface TextWord {
  /** Letters and digits in lower case without accents, or one emoji. */
  word: string;
  start: number;
  end: number;
  /**
   * Of writing without blanks: two neighbouring characters, or the last one of a run, so that any part of a run is found
   * by the pairs it consists of (decisions/0120).
   */
  isPair: boolean;
}

/** Longer ones are cut: they are data, not words. In characters. */
const longestWord = 64;

const unspaced = ['Han', 'Hira', 'Kana', 'Bopo', 'Hang', 'Thai', 'Laoo', 'Khmr', 'Mymr'];
const ofUnspaced = `[${unspaced.map((script) => `\\p{scx=${script}}`).join('')}]`;
// `v` for differences of sets; written as text because the compiler knows it only of later targets.
const pieces = new RegExp(
  [
    `(?<run>[[\\p{L}\\p{N}]&&${ofUnspaced}][[\\p{L}\\p{N}\\p{M}]&&${ofUnspaced}]*)`,
    `(?<plain>[[\\p{L}\\p{N}]--${ofUnspaced}][[\\p{L}\\p{N}\\p{M}]--${ofUnspaced}]*)`,
    '(?<emoji>\\p{Extended_Pictographic}|\\p{RI}\\p{RI})',
  ].join('|'),
  'gv',
);

/** The words of a text in their order, at most `most`; none of a hashed one. Time in proportion to the text's length. */
export function* textWords(text: string, most = Number.POSITIVE_INFINITY): Generator<TextWord, void, undefined> {
  if (isKeyedHash(text)) return;
  let left = most;
  for (const found of text.matchAll(pieces)) {
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
