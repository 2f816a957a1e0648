import { Parser } from 'htmlparser2';

/** Elements within a line; any other begins a new one. */
const inline = new Set(
  'a abbr acronym b bdi bdo big button cite code data del dfn em font i img input ins kbd label mark q rp rt ruby s samp select small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);
/** Elements whose content readers do not see. */
const silent = new Set(['script', 'style', 'template', 'noscript', 'svg', 'math', 'iframe', 'object', 'canvas']);

/** What a page says, line by line as its blocks follow each other: no markup, white space as browsers show it. */
export function pageText(html: string): string[] {
  const lines: string[] = [];
  let line = '';
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
