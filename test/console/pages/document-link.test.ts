import { describe, expect, it } from 'vitest';
import { documentLink } from '../../../src/console/pages/entry-page.tsx';

const one = ['docs.acme.example'];

describe('the link to the page of an entry', () => {
  it.each([
    ['/guides/install', 'https://docs.acme.example/guides/install'],
    ['guides/install?x=1#there', 'https://docs.acme.example/guides/install?x=1#there'],
    ['https://other.example/a b', 'https://other.example/a%20b'],
    ['HTTP://other.example/a', 'http://other.example/a'],
  ])('of %s leads to %s', (path, expected) => {
    expect(documentLink(path, one)).toBe(expected);
  });

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
    'blob:https://docs.acme.example/x',
    'https://user:secret@evil.example/',
    'https://',
    `/${'x'.repeat(1_000_000)}`,
  ])('is none for %s', (path) => {
    expect(documentLink(path.slice(0, 1_000_001), one)).toBeNull();
  });

  it.each([
    '//evil.example/x',
    '/\\evil.example',
    '\\\\evil.example',
    ' //evil.example',
    '/\t/evil.example',
    '@evil.example',
  ])('stays on the site for %j', (path) => {
    expect(new URL(documentLink(path, one) ?? 'x:').host).toBe('docs.acme.example');
  });

  it.each(['java\nscript:alert(1)', ' javascript:alert(1)', '\u0001javascript:alert(1)'])(
    'is a page of the site at most for %j',
    (path) => {
      expect(documentLink(path, one)).toMatch(/^https:\/\/docs\.acme\.example\//);
    },
  );

  it('is none for a path when the organization has several sites or none', () => {
    expect([documentLink('/a', []), documentLink('/a', ['a.example', 'b.example'])]).toEqual([null, null]);
  });
});
