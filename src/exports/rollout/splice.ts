/** Replaces the characters from `from` up to, not including, `to`. */
export interface Splice {
  from: number;
  to: number;
  text: string;
}

/** Applies all splices to one text; they must not overlap. Splices at the same offset keep their order. */
export function applySplices(text: string, splices: readonly Splice[]): string {
  let result = '';
  let at = 0;
  for (const splice of [...splices].sort((a, b) => a.from - b.from)) {
    if (splice.from < at) throw new RangeError('splices overlap');
    result += text.slice(at, splice.from) + splice.text;
    at = splice.to;
  }
  return result + text.slice(at);
}
