import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SiteInspection } from '../../../src/exports/verify/inspect-file.ts';
import { cssReferences, htmlContent, srcsetUrls } from '../../../src/exports/verify/references.ts';

/** Each would take hours or end the thread if a step read the same text repeatedly. */
const size = 1_500_000;
const many = (text: string) => text.repeat(Math.ceil(size / text.length));

describe('pages built to keep the verifier busy', () => {
  it.each([
    ['a.css', many('@namespace ')],
    ['a.css', many('\\"')],
    ['a.css', many('url(')],
    ['a.css', many('/*')],
    ['a.css', many('a{b:url(x)}')],
    ['a.js', `import${' '.repeat(size)}`],
    ['a.js', many('import ')],
    ['a.js', `serviceWorker${' '.repeat(size)}`],
    ['a.json', `-----BEGIN PRIVATE KEY-----${many('a: ')}`],
    ['a.json', `-----BEGIN PRIVATE KEY-----${many('\n')}`],
    ['a.json', many('-----BEGIN A')],
    ['a.html', `<style>${many('a{b:url(x)}')}</style>`],
    ['a.html', `<p style="${many('b:url(x);')}">`],
    ['a.html', `<img srcset="${many('a (')}">`],
    ['a.html', `<img srcset="${many(',')}a${many(',')}">`],
    ['a.html', `<meta http-equiv=refresh content="1${' '.repeat(size)}">`],
    ['a.html', `<a href="${many('../')}">`],
    ['a.html', `<a href="${many(' ')}">`],
    ['a.html', many('<img src=//a.example>')],
    [
      'a.html',
      `<base href="/${many('a')}/">${Array.from({ length: 100_000 }, (_, link) => `<a href=${link}>`).join('')}`,
    ],
    ['a.svg', many('<style>url(//a.example)<image href="//a.example"/></style>')],
    ['a.json', many('AKIA')],
    ['a.json', many('github_pat_')],
    ['a.json', many('xoxb-1-')],
    ['a.html', many('<b>')],
    ['a.html', `${many('<b>')}${many('</i>')}`],
    ['a.svg', many('<g>')],
    ['a.html', many('<constructor><__proto__ href=x>')],
    ['a.constructor', 'x'],
  ])('%s', (path, text) => {
    const inspection = new SiteInspection({}, null);
    if (inspection.wants(path, text.length)) inspection.inspect(path, Buffer.from(text));
    expect(inspection.notes().targets.size).toBeLessThan(3);
  });

  it('are read down to 500 elements within each other, and named where they go deeper', () => {
    const inspect = (path: string, text: string) => {
      const inspection = new SiteInspection({}, null);
      inspection.inspect(path, Buffer.from(text));
      const { findings, targets } = inspection.notes();
      return { findings: JSON.stringify(findings.get('not-inspected') ?? null), targets: [...targets.keys()] };
    };
    const nested = (levels: number) => `<img src=a.png>\n${'<b>'.repeat(levels)}<img src=b.png>`;
    expect(inspect('a.html', nested(499))).toEqual({ findings: 'null', targets: ['a.png', 'b.png'] });
    const deep = inspect('a.html', nested(500));
    expect(deep.targets).toEqual(['a.png']);
    expect(deep.findings).toContain('from line 2 on: elements stand more than 500 deep within each other');
    expect(inspect('a.html', `<iframe srcdoc="${nested(500)}"></iframe>`).findings).toContain('from line 1 on');
    expect(inspect('a.html', nested(1).repeat(1_000).replaceAll('<b>', '<p>')).findings).toBe('null');
  });

  it('inspects a page within a page, once', () => {
    const quoted = (html: string) => html.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
    const inner = (html: string) => `<iframe srcdoc="${quoted(html)}"></iframe>`;
    const urls = (html: string) => htmlContent(html).references.map(({ url }) => url);
    expect(urls(inner('<img src=a.png>'))).toEqual(['a.png']);
    expect(urls(inner(`<img src=a.png>${inner('<img src=b.png>')}`))).toEqual(['a.png']);
  });

  it('never throw', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '/',
      '=',
      'a',
      'href',
      'src',
      'style',
      'script',
      '!--',
      '&',
      ' ',
      '\\',
      'url(',
      ')',
      '@import',
      ',',
      '\u0000',
      '\ud800',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join('');
        const inspection = new SiteInspection({}, null);
        for (const path of ['a.html', 'a.svg', 'a.css', 'a.js', 'a.txt']) inspection.inspect(path, Buffer.from(text));
        expect(srcsetUrls(text).every((url) => text.includes(url))).toBe(true);
      }),
    );
  });
});

describe('what a style sheet loads', () => {
  it.each([
    ['a { b: url(x.png) }', 'x.png'],
    ['a { b: url( "x y.png" ) }', 'x y.png'],
    ["a { b: URL('x.png') }", 'x.png'],
    ['@import "a.css" screen; @import url(b.css); @IMPORT \'c.css\';', 'a.css', 'b.css', 'c.css'],
    ['a { b: url(\\78.png) }', 'x.png'],
    ['/* url(a.png) */ a { b: url(b.png) } /* url(c.png)', 'b.png'],
    ['a { content: "url(a.png)"; b: url(b.png) }', 'b.png'],
    ['a { content: "it\\"s url(a.png)"; b: url(b.png) }', 'b.png'],
    ['a { content: "open\n b: url(b.png) }', 'b.png'],
    ['@namespace svg url(http://www.w3.org/2000/svg); a { b: url(b.png) }', 'b.png'],
    ['a { b: myurl(x.png) url() }'],
  ])('%s', (css, ...urls) => {
    expect(cssReferences(css).map(({ url }) => url)).toEqual(urls);
  });
});
