/** Text that is HTML already; made by `html` alone, so that nothing gets into a page unescaped by accident. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

type Piece = string | number | Html | null | false | readonly Piece[];

/** A template whose values are escaped, in text and in quoted attributes alike; null and false leave nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return new Html(strings.map((text, index) => text + pieceText(values[index] ?? null)).join(''));
}

function pieceText(value: Piece): string {
  if (value === null || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object') return value.map(pieceText).join('');
  return escaped(String(value));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Characters HTML cannot hold become U+FFFD, as do lone surrogates, which are no UTF-8. */
function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
    .replaceAll(/[^\P{Cc}\t\n\r]|\p{Cs}/gu, '\uFFFD');
}

/**
 * Text of others where one line of it stands among ours, such as a path: characters that are not seen, or that turn the
 * direction of what follows, are shown as U+FFFD.
 */
export function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

/** At most so many characters, cut in the middle: paths differ at both ends. */
export function shortened(text: string, longest: number): string {
  const characters = [...text];
  if (characters.length <= longest) return text;
  const head = Math.ceil((longest - 1) / 2);
  const tail = longest - 1 - head;
  return `${characters.slice(0, head).join('')}…${tail === 0 ? '' : characters.slice(-tail).join('')}`;
}
