import { describe, expect, it } from 'vitest';
import { sentence } from '../../../src/console/pages/parts.tsx';
import { pagePath } from '../../../src/rules/text.ts';

describe('a message as a sentence', () => {
  it.each([
    ['check that it is running', 'Check that it is running.'],
    ['Nothing was done.', 'Nothing was done.'],
    ['docs.acme.example is not held any more', 'docs.acme.example is not held any more.'],
    ['prj_1 has no pass', 'prj_1 has no pass.'],
    ['what failed: too large:', 'What failed: too large:'],
    ['a\u202eb', 'a�b.'],
  ])('%j reads %j', (text, read) => expect(sentence(text)).toBe(read));
});

describe('the path of a page', () => {
  it.each([
    ['/reference/%E2%9C%93', '/reference/✓'],
    ['https://docs.acme.example/a%20b?q=%C3%BC', 'https://docs.acme.example/a b?q=ü'],
    ['/a%2Fb%3Fc%23d%25e', '/a%2Fb%3Fc%23d%25e'],
    ['/%252F', '/%252F'],
    ['/%E2%80%AEgpj', '/%E2%80%AEgpj'],
    ['/%00%0A', '/%00%0A'],
    ['/%E2', '/%E2'],
    ['/50%', '/50%'],
  ])('%j reads %j', (path, read) => expect(pagePath(path)).toBe(read));
});
