import fc from 'fast-check';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { describe, expect, it } from 'vitest';
import { htmlContent } from '../../../src/exports/verify/references.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

const urlsOf = (html: string) => htmlContent(html).references.map(({ kind, url }) => `${kind} ${url}`);

describe('what a page refers to', () => {
  it.each([
    ['<a href="/x">', 'link /x'],
    ['<area href=x>', 'link x'],
    ["<script src='a.js'></script>", 'resource a.js'],
    ['<link rel="Stylesheet preload" href=s.css>', 'resource s.css'],
    ['<link rel="shortcut icon" href=i.ico>', 'resource i.ico'],
    ['<link rel=preconnect href=//cdn.example>', 'contact //cdn.example'],
    ['<img src="a.png" srcset="b.png 1x, c.png 2x">', 'resource a.png', 'resource b.png', 'resource c.png'],
    ['<source srcset="a,b.webp 100w,d.webp">', 'resource a,b.webp', 'resource d.webp'],
    ['<video src=v.mp4 poster=p.png></video>', 'resource v.mp4', 'resource p.png'],
    ['<iframe src=f.html></iframe>', 'resource f.html'],
    ['<iframe srcdoc="&lt;img src=in.png&gt;"></iframe>', 'resource in.png'],
    ['<object data=o.svg></object><embed src=e.svg>', 'resource o.svg', 'resource e.svg'],
    ['<svg><use xlink:href="s.svg#a"/><image href=i.png /></svg>', 'resource s.svg#a', 'resource i.png'],
    ['<div style="background: url(b.png)">', 'resource b.png'],
    ['<style>@import "i.css"; a { src: url( "f.woff" ) }</style>', 'resource i.css', 'resource f.woff'],
    ['<base href="/docs/">', 'base /docs/'],
    ['<meta http-equiv=Refresh content="0; URL=\'/next\'">', 'refresh /next'],
    ['<meta http-equiv=refresh content="3;url=next.html">', 'refresh next.html'],
    ['<a href=x ping="https://t.example/a /b">', 'link x', 'contact https://t.example/a', 'contact /b'],
    ['<script type=module>import a from "https://cdn.example/a.js"</script>', 'resource https://cdn.example/a.js'],
    ['<script>importScripts("//cdn.example/w.js")</script>', 'resource //cdn.example/w.js'],
    [
      '<script type=importmap>{"imports":{"a":"https://cdn.example/a.js"}}</script>',
      'resource https://cdn.example/a.js',
    ],
    ['<a href="?a=1&amp;b=2">', 'link ?a=1&b=2'],
  ])('%s', (html, ...expected) => {
    expect(urlsOf(html)).toEqual(expected);
  });

  it.each([
    '<link rel=canonical href=https://docs.example/>',
    '<meta http-equiv=refresh content=30>',
    '<!-- <img src=a.png> -->',
    '<script>"<img src=a.png>"</script>',
    '<textarea><img src=a.png></textarea>',
    '<style>/* url(a.png) */ @namespace url(http://www.w3.org/1999/xhtml); a { content: "url(b.png)" }</style>',
    '<a name=x>',
  ])('nothing in %s', (html) => {
    expect(urlsOf(html)).toEqual([]);
  });

  it('reports the line', () => {
    const html = '<p>\n<img src=a.png>\n<style>\n a { b: url(c.png) }\n</style>';
    expect(htmlContent(html).references.map(({ at }) => html.slice(at, at + 4))).toEqual(['<img', 'url(']);
  });
});

/** Every `href` and `src` that a browser's parser finds on the elements below. */
function urlsByParse5(html: string): string[] {
  const found: string[] = [];
  const walk = (node: DefaultTreeAdapterTypes.Node) => {
    if ('attrs' in node && ['a', 'img', 'script', 'iframe'].includes(node.tagName)) {
      const wanted = node.tagName === 'a' ? 'href' : 'src';
      for (const { name, value } of node.attrs) if (name === wanted) found.push(value);
    }
    if ('childNodes' in node) for (const child of node.childNodes) walk(child);
  };
  walk(parse(html));
  return found;
}

describe('beside parse5', () => {
  const url = fc.constantFrom('a.html', '/b', 'c d', 'x&amp;y', '&#x2f;z', 'q?a=1&b=2', "it's", '#f', '');
  const quote = fc.constantFrom('"', "'");
  const space = fc.constantFrom(' ', '\n', '  ', '/');
  const tag = fc.tuple(
    fc.constantFrom('a href', 'A HREF', 'img src', 'iframe src', 'a title=">" href'),
    url,
    quote,
    space,
  );
  const piece = fc.oneof(
    {
      weight: 5,
      arbitrary: tag.map(([start, value, q, gap]) => `<${start}=${q}${value.replaceAll(q, '')}${q}${gap}class=x>`),
    },
    fc.constantFrom(
      'text',
      '</a>',
      '</iframe>',
      '<p>',
      '</p>',
      '<!-- <a href=no> -->',
      '<!-->',
      '<div title=">">',
      '</div>',
    ),
    fc.constantFrom(
      '<script src="s.js"></script>',
      '<script>var a = "<a href=no>"</script>',
      '<style><a href=no></style>',
    ),
    fc.constantFrom(
      '<textarea><a href=no></textarea>',
      '<title><a href=no></title>',
      '<',
      '</',
      '&amp;',
      '<b',
      '\u00e9',
      '\r\n',
    ),
  );

  it('misses nothing that a browser would load or follow', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const html = `<!doctype html><body>${pieces.join('')}`;
        const ours = new Set(htmlContent(html).references.map((reference) => reference.url));
        for (const theirs of urlsByParse5(html)) expect(ours).toContain(theirs);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
