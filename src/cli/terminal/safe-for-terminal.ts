import { visibleText } from '../../rules/visible-text.ts';

/** The colours of our own texts (picocolors); no foreign text can do harm with them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with the escape character
const colour = /(\u001b\[(?:[0-2]|22|3[0-79]|9[0-7])m)/;

/** A text that may quote an archive, the service or a person, without control characters but colours where there are any. */
export function safeForTerminal(text: string, coloured: boolean): string {
  if (!coloured) return visibleText(text);
  const parts = text.split(colour);
  return parts.map((part, index) => (index % 2 === 1 ? part : visibleText(part))).join('');
}
