import type { FoundText } from '../../feedback/search/feedback-search.ts';

/**
 * What a reader has written, for a page: lines stay, and so do the joiners that emoji and some scripts need; what cannot be
 * seen or could turn the text around becomes U+FFFD.
 */
export function readable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n\r]|[\u202A-\u202E\u2066-\u2069\p{Cs}]/gu, '\uFFFD');
}

/** Part of a text, with what was found in it marked. */
export function Marked({ found }: { found: FoundText }) {
  const { text, from, length, marks } = found;
  const ends = [0, ...marks.flat(), text.length];
  return (
    <>
      {from > 0 && <span class="quiet">… </span>}
      {ends.slice(0, -1).map((start, index) => {
        const piece = readable(text.slice(start, ends[index + 1]));
        return index % 2 === 1 ? <mark>{piece}</mark> : piece;
      })}
      {from + text.length < length && <span class="quiet"> …</span>}
    </>
  );
}
