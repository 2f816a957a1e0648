import fc from 'fast-check';
import { parseFragment } from 'parse5';
import { describe, expect, it } from 'vitest';
import { html, shortened, visible } from '../../../src/feedback/report/figure.ts';

describe('html', () => {
  it('escapes values, keeps templates and leaves null and false out', () => {
    const inner = html`<b>${'<i>'}</b>`;
    expect(`${html`<p title="${`"'&`}">${inner}${null}${false}${3}${['a', '<']}</p>`}`).toBe(
      '<p title="&quot;&#39;&amp;"><b>&lt;i&gt;</b>3a&lt;</p>',
    );
  });

  it('never lets a text become more than a text, nor an attribute more than its value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const [element, ...others] = parseFragment(`${html`<p title="${value}">${value}</p>`}`).childNodes;
        expect(others).toEqual([]);
        const found = element as { attrs: { name: string; value: string }[]; childNodes: { nodeName: string }[] };
        expect(found.attrs.map(({ name }) => name)).toEqual(['title']);
        expect(found.childNodes.every(({ nodeName }) => nodeName === '#text')).toBe(true);
      }),
    );
  });

  it('shows what HTML cannot hold as U+FFFD', () => {
    expect(`${html`${'a\u0000b\u001bc\ud800d\te\n'}`}`).toBe('a\uFFFDb\uFFFDc\uFFFDd\te\n');
  });
});

describe('texts of others in a line of ours', () => {
  it('show characters that turn the direction or are not seen', () => {
    expect(visible('/a\u202e/b\u2028\u200b\n')).toBe('/a\uFFFD/b\uFFFD\uFFFD\uFFFD');
  });

  it('are cut in the middle, between characters', () => {
    expect(shortened('/guides/one', 11)).toBe('/guides/one');
    expect(shortened('/guides/first/second', 9)).toBe('/gui…cond');
    expect(shortened('👍👍👍👍', 3)).toBe('👍…👍');
    expect(shortened('ab', 1)).toBe('…');
  });
});
