/** Text that is HTML already. Only `html` makes it, so that nothing gets into a page unescaped by accident. */
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

/** A template whose values are escaped, for text and quoted attributes alike; null and false become nothing. */
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

/** Characters that HTML cannot hold become U+FFFD, as do lone surrogates, which UTF-8 cannot. */
function escaped(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
    .replaceAll(/[^\P{Cc}\t\n\r]|\p{Cs}/gu, '\uFFFD');
}

/** Foreign text in a line of ours, such as a path: invisible characters, and those that reverse it, become U+FFFD. */
export function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

/** Cut in the middle to at most `longest` characters: paths differ at both ends. */
export function shortened(text: string, longest: number): string {
  const characters = [...text];
  if (characters.length <= longest) return text;
  const head = Math.ceil((longest - 1) / 2);
  const tail = longest - 1 - head;
  return `${characters.slice(0, head).join('')}…${tail === 0 ? '' : characters.slice(-tail).join('')}`;
}
