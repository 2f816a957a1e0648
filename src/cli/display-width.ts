import { stripVTControlCharacters } from 'node:util';

/** Blocks whose characters take two columns of a terminal (Unicode's East Asian wide and full width, and emoji). */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]/gu;
/** Characters that stand on the one before them. */
const marks = /\p{Mn}|\p{Me}/gu;

/** Columns of a terminal that a text takes; colours take none. */
export function displayWidth(text: string): number {
  const plain = stripVTControlCharacters(text).replaceAll(marks, '');
  return [...plain.replaceAll(wide, '  ')].length;
}
