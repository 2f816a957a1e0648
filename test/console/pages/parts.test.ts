import { describe, expect, it } from 'vitest';
import { sentence } from '../../../src/console/pages/parts.tsx';

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
