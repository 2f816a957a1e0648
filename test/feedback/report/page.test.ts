import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { html } from 'hono/html';
import { type DefaultTreeAdapterMap, parse, parseFragment } from 'parse5';
import { describe, expect, it } from 'vitest';
import {
  type ColorName,
  dark,
  htmlText,
  light,
  type Palette,
  seriesColors,
} from '../../../src/feedback/report/figure.ts';
import { nothing, pageOf, projectWith, someFigures } from './figures.ts';

type Element = DefaultTreeAdapterMap['element'];
type Node = DefaultTreeAdapterMap['node'];

/** All elements of a page as a browser finds them. */
function elementsOf(page: string): Element[] {
  const found: Element[] = [];
  const walk = (node: Node): void => {
    if ('tagName' in node) found.push(node);
    if ('childNodes' in node) node.childNodes.forEach(walk);
  };
  walk(parse(page));
  return found;
}

function attribute(element: Element, name: string): string | undefined {
  return element.attrs.find((attr) => attr.name === name)?.value;
}

function named(elements: readonly Element[], name: string): Element[] {
  return elements.filter(({ tagName }) => tagName === name);
}

function textOf(element: Element): string {
  return element.childNodes
    .map((node) => ('value' in node ? node.value : 'tagName' in node ? textOf(node) : ''))
    .join('');
}

const hostile = [
  '<script>alert(1)</script>',
  '</script><script>alert(2)</script>',
  '</blockquote></li><img src=x onerror=alert(3)>',
  '" onmouseover="alert(4)" x="',
  "'><svg onload=alert(5)>",
  'javascript:alert(6)',
  ']]><style>@import "https://evil.example"</style>',
  '<!-- --!> zr0-c0 class="x" 1.23456 style="color:red"',
  'line\u2028separator\u2029 \u202eright to left\u202c \u0000 \u001b[2J \ud800',
  '&lt;b&gt; {{x}}',
];

/** Made and read once: it holds a hundred drawings. */
let hostileElements: Promise<Element[]> | undefined;
function elementsOfHostilePage(): Promise<Element[]> {
  hostileElements ??= pageOf(
    hostile.map((text) =>
      projectWith(
        someFigures({
          sources: [{ name: text, entries: 9, over: [4, 3, 2] }],
          statuses: [{ name: text, entries: 9, over: [4, 3, 2] }],
          mostVoted: [{ path: text, yes: 3, no: 1 }],
          worst: [{ path: text, yes: 3, no: 1 }],
          agents: {
            entries: 3,
            paths: 1,
            pages: [{ path: text, entries: 3, open: 1, complaints: [{ text, cut: 0, times: 1 }] }],
          },
          recent: [{ text, cut: 0, path: text, source: text, status: text, helpful: null, createdAt: null }],
        }),
        text,
      ),
    ),
  ).then(elementsOf);
  return hostileElements;
}

describe('a part of a page', () => {
  it('never lets a text become more than a text, nor an attribute more than its value', async () => {
    const property = fc.asyncProperty(fc.string({ unit: 'binary' }), async (value) => {
      const [element, ...others] = parseFragment(await htmlText(html`<p title="${value}">${value}</p>`)).childNodes;
      expect(others).toEqual([]);
      const found = element as Element;
      expect(found.attrs.map(({ name }) => name)).toEqual(['title']);
      expect(found.childNodes.every(({ nodeName }) => nodeName === '#text')).toBe(true);
    });
    await fc.assert(property);
  });

  it('shows what HTML cannot hold as U+FFFD', async () => {
    expect(await htmlText(html`${'a\u0000b\u001bc\ud800d\te\n'}`)).toBe('a\uFFFDb\uFFFDc\uFFFDd\te\n');
  });
});

describe('the page of a report', () => {
  it('lets a browser load nothing, and run only the script it holds', async () => {
    const elements = elementsOf(await pageOf([projectWith(someFigures())]));
    const policy = elements.find((element) => attribute(element, 'http-equiv') === 'Content-Security-Policy');
    const digest = (name: string) => {
      const [only, ...others] = named(elements, name);
      expect(others).toEqual([]);
      return createHash('sha256')
        .update(only === undefined ? '' : textOf(only))
        .digest('base64');
    };
    expect(policy && attribute(policy, 'content')?.split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'sha256-${digest('style')}'`,
      `script-src 'sha256-${digest('script')}'`,
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
    ]);
  });

  it('names no other place, and holds no style or handler in an attribute', async () => {
    for (const elements of [elementsOf(await pageOf([projectWith(someFigures())])), await elementsOfHostilePage()]) {
      const attributes = elements.flatMap(({ attrs }) => attrs);
      expect(attributes.filter(({ name }) => /^on|^style$|^src|^action$/.test(name))).toEqual([]);
      const targets = attributes.filter(({ name }) => name === 'href').map(({ value }) => value);
      expect(targets.filter((target) => !/^(#|data:,$)/.test(target))).toEqual([]);
      const [style] = named(elements, 'style');
      expect(textOf(style ?? never())).not.toMatch(/@import|url\(/);
    }
  });

  it('is the same whatever people write: no element more', async () => {
    const elements = await elementsOfHostilePage();
    const harmless = elementsOf(await pageOf(hostile.map(() => projectWith(someFigures()))));
    for (const name of ['script', 'style', 'svg', 'figure', 'meta', 'li', 'form']) {
      expect(named(elements, name).length, name).toBeLessThanOrEqual(named(harmless, name).length);
    }
    expect(named(elements, 'img')).toEqual([]);
    expect(named(elements, 'script')).toHaveLength(1);
  });

  it('shows what people wrote, character by character', async () => {
    const quotes = named(await elementsOfHostilePage(), 'blockquote').map(textOf);
    for (const text of hostile) {
      expect(quotes).toContain(text.replaceAll(/[\p{Cc}\p{Cs}]/gu, '\uFFFD'));
    }
    expect(quotes).toHaveLength(2 * hostile.length);
  });

  it('names pages everywhere as people write them, also where the filter looks for them', async () => {
    const path = '/caf%C3%A9';
    const figures = someFigures({
      mostVoted: [{ path, yes: 3, no: 1 }],
      worst: [{ path, yes: 3, no: 1 }],
      agents: { entries: 3, paths: 1, pages: [{ path, entries: 3, open: 1, complaints: [] }] },
      recent: [{ text: 'good', cut: 0, path, source: 'agent', status: 'pending', helpful: null, createdAt: null }],
    });
    const page = await pageOf([projectWith(figures)]);
    expect(elementsOf(page).flatMap((element) => attribute(element, 'data-page') ?? [])).toEqual(['/café']);
    expect(page.toLowerCase()).not.toContain('%c3');
    // A chart, for two widths, and its table for each of three; the comment.
    expect(page.split('/café')).toHaveLength(3 * 3 + 2 + 1);
  });

  it('keeps the direction of others’ texts to themselves', async () => {
    const elements = await elementsOfHostilePage();
    expect(named(elements, 'blockquote').every((quote) => attribute(quote, 'dir') === 'auto')).toBe(true);
    const lines = elements.filter(({ tagName }) => ['bdi', 'text', 'h2', 'option'].includes(tagName));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(textOf(line)).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it('has a table for each chart, with the same name, and drawings for both widths', async () => {
    const elements = elementsOf(await pageOf([projectWith(someFigures())]));
    const figures = named(elements, 'figure');
    expect(figures).toHaveLength(7);
    for (const figure of figures) {
      const caption = elements.find((element) => attribute(element, 'id') === attribute(figure, 'aria-labelledby'));
      expect(caption?.tagName).toBe('figcaption');
      const inside = elements.filter((element) => isWithin(element, figure));
      expect(
        named(inside, 'svg')
          .map((svg) => attribute(svg, 'class'))
          .filter((name) => name !== 'key'),
      ).toEqual(['wide', 'narrow']);
      expect(named(inside, 'details')).toHaveLength(1);
      expect(named(inside, 'tr').length).toBeGreaterThan(1);
    }
  });

  it('uses every id once', async () => {
    const elements = elementsOf(await pageOf([projectWith(someFigures()), projectWith(someFigures(), 'prj_2')]));
    const ids = elements.flatMap((element) => attribute(element, 'id') ?? []);
    expect(ids).toEqual([...new Set(ids)]);
    const references = elements.flatMap((element) =>
      ['aria-labelledby', 'for', 'data-list'].flatMap((name) => attribute(element, name)?.split(' ') ?? []),
    );
    expect(ids).toEqual(expect.arrayContaining(references));
  });

  it('says when there is nothing, or little, to show', async () => {
    const empty = await pageOf([projectWith(nothing)]);
    expect(empty).toContain('No feedback is stored for this period.');
    expect(named(elementsOf(empty), 'svg')).toEqual([]);
    const one = someFigures({
      ...nothing,
      entries: 1,
      axis: someFigures().axis,
      sources: [{ name: 'agent', entries: 1, over: [0, 1, 0] }],
      statuses: [{ name: 'pending', entries: 1, over: [0, 1, 0] }],
      open: { entries: 1, oldest: null },
    });
    const text = await pageOf([projectWith(one)]);
    for (const words of [
      'There are no votes yet',
      'No sync has seen an entry change to closed',
      'There are no comments',
    ]) {
      expect(text).toContain(words);
    }
  });

  it('shows closings of a range in which nothing was created', async () => {
    const { axis, waits, waitsOver } = someFigures();
    const text = await pageOf([projectWith({ ...nothing, axis, waits, waitsOver })]);
    expect(text).toContain('No feedback was left in this period; 4 entries were closed.');
    expect(text).toContain('half were closed within 5 hours');
    expect(text).not.toMatch(/NaN|Incoming feedback|In their words/);
  });

  it('gives the range and what it leaves out', async () => {
    const page = await pageOf([projectWith(someFigures({ undatedLeftOut: 3 }))], { from: '2026-11-01T00:00:00.000Z' });
    expect(page).toContain('Created since 1 November 2026, 00:00 UTC. 3 entries without a date are left out.');
  });

  it('mentions a trend only when chance does not explain it', async () => {
    const votes = (...shares: number[]) => ({
      helpful: { yes: 150, no: 150 },
      helpfulOver: shares.map((yes) => ({ yes, no: 100 - yes })),
    });
    const lead = async (...shares: number[]) =>
      textOf(
        named(elementsOf(await pageOf([projectWith(someFigures(votes(...shares)))])), 'p').find(
          (p) => attribute(p, 'class') === 'lead',
        ) ?? never(),
      );
    expect(await lead(90, 40, 70)).toContain('in the last day 70\u202F%, 30 points up on the one before');
    expect(await lead(10, 52, 50)).toContain('no clear change between the last day and the one before');
  });
});

function never(): Element {
  throw new Error('there is no such element');
}

function isWithin(element: Element, outer: Element): boolean {
  for (let at: DefaultTreeAdapterMap['parentNode'] | null = element.parentNode; at !== null; ) {
    if (at === outer) return true;
    at = 'parentNode' in at ? at.parentNode : null;
  }
  return false;
}

/** WCAG 2.2, "relative luminance" and "contrast ratio". */
function contrast(one: string, other: string): number {
  const luminance = (color: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

const schemes: [string, Palette][] = [
  ['light', light],
  ['dark', dark],
];

describe.each(schemes)('in the %s scheme', (_, palette) => {
  it.each<ColorName>(['ink', 'quiet', 'focus', 'good', 'bad'])('%s can be read on paper and wash (4.5:1)', (name) => {
    expect(contrast(palette[name], palette.paper)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(palette[name], palette.wash)).toBeGreaterThanOrEqual(4.5);
  });

  it.each<ColorName>(['good', 'bad', 'blue', 'ochre', 'plum', 'moss', 'rose', 'slate', 'stone', 'focus'])(
    '%s can be seen in charts and edges (3:1)',
    (name) => {
      expect(contrast(palette[name], palette.paper)).toBeGreaterThanOrEqual(3);
      expect(contrast(palette[name], palette.wash)).toBeGreaterThanOrEqual(3);
    },
  );
});

describe('seriesColors', () => {
  it('keeps the colours of known names, and gives others colours of their own', () => {
    expect(seriesColors(['agent', 'contextual'])).toEqual(['plum', 'blue']);
    expect(seriesColors(['contextual', 'voice_note', 'agent', null])).toEqual(['blue', 'rose', 'plum', 'stone']);
    const many = seriesColors(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(new Set(many).size).toBe(6);
  });
});

it('says up to when entries are read, not that nothing older is missing', async () => {
  const page = await pageOf([projectWith(someFigures({}))]);
  expect(page).toContain('Entries written up to');
  expect(page).not.toContain('Complete as of');
});
