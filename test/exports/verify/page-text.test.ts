import { describe, expect, it } from 'vitest';
import { pageText } from '../../../src/exports/verify/compare-pages.ts';

describe('pageText', () => {
  it.each([
    ['<h1>Title</h1><p>One\n  <b>bold</b> line &amp; more</p>', ['Title', 'One bold line & more']],
    ['<ul><li>a<li>b</ul>', ['a', 'b']],
    ['<p>a<br>b</p>', ['a', 'b']],
    ['<script>no()</script><style>no{}</style><p>yes</p>', ['yes']],
    ['<pre>if (a) {\n  b();\n}\n</pre><p>end', ['if (a) {', '  b();', '}', 'end']],
    ['<p>see <img src=x alt="a picture"> here</p>', ['see [a picture] here']],
    ['<svg><title>no</title></svg><title>yes</title>', ['yes']],
    ['', []],
  ])('%s', (html, lines) => {
    expect(pageText(html)).toEqual(lines);
  });

  it('keeps what looks like markup as text, for the page that shows it to escape', () => {
    expect(pageText('<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>')).toEqual(['<script>alert(1)</script>']);
  });

  it('reads markup that nobody closed, five hundred levels deep, and nothing that is deeper', () => {
    expect(pageText(`${'<div>'.repeat(500)}deep`)).toEqual(['deep']);
    expect(pageText(`${'<div>'.repeat(501)}deep`)).toBeNull();
    expect(pageText(`${'<p>line<br>'.repeat(1_000)}${'<b>x</b>'.repeat(1_000)}`)).toHaveLength(1_001);
  });
});
