import { Parser } from 'htmlparser2';
import { deepestElement } from './html-references.ts';

/** Elements within a line; any other begins a new one. */
const inline = new Set(
  'a abbr acronym b bdi bdo big button cite code data del dfn em font i img input ins kbd label mark q rp rt ruby s samp select small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);
/** Elements whose content readers do not see. */
const silent = new Set(['script', 'style', 'template', 'noscript', 'svg', 'math', 'iframe', 'object', 'canvas']);

class TooDeep extends Error {}

/**
 * What a page says, line by line as its blocks follow each other: no markup, white space as browsers show it. Null for a
 * page whose elements stand too deep within each other, which no person has written.
 */
export function pageText(html: string): string[] | null {
  try {
    return linesIn(html);
  } catch (error) {
    if (error instanceof TooDeep) return null;
    throw error;
  }
}

function linesIn(html: string): string[] {
  const lines: string[] = [];
  let line = '';
  let depth = 0;
  let silence = 0;
  let preformatted = 0;
  const end = () => {
    const text = preformatted > 0 ? line.trimEnd() : line.replaceAll(/\s+/g, ' ').trim();
    if (text !== '') lines.push(text);
    line = '';
  };
  const parser = new Parser(
    {
      onopentagname(name) {
        depth += 1;
        if (depth > deepestElement) throw new TooDeep();
        if (silent.has(name)) silence += 1;
        if (!inline.has(name)) end();
        if (name === 'pre') preformatted += 1;
      },
      onopentag(name, { alt = '' }) {
        if (name === 'img' && silence === 0 && alt !== '') line += ` [${alt}] `;
      },
      ontext(text) {
        if (silence > 0) return;
        if (preformatted === 0) {
          line += text;
          return;
        }
        const [first = '', ...rest] = text.split('\n');
        line += first;
        for (const next of rest) {
          end();
          line = next;
        }
      },
      onclosetag(name) {
        depth -= 1;
        if (!inline.has(name)) end();
        if (silent.has(name)) silence -= 1;
        if (name === 'pre') preformatted -= 1;
      },
    },
    { decodeEntities: true },
  );
  parser.end(html);
  end();
  return lines;
}
