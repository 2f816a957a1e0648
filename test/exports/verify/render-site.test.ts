import { expect, it } from 'vitest';
import { samplePages } from '../../../src/exports/verify/render-site.ts';

const paths = ['a.css', ...Array.from({ length: 50 }, (_, index) => `p/${index}.html`), 'index.html'];

it('takes the index page and others: the same for the same archive, others for another', () => {
  const sample = samplePages(paths, 'a'.repeat(64), 5);
  expect(sample).toHaveLength(5);
  expect(sample[0]).toBe('index.html');
  expect(new Set(sample).size).toBe(5);
  expect(samplePages([...paths].reverse(), 'a'.repeat(64), 5)).toEqual(sample);
  expect(samplePages(paths, 'b'.repeat(64), 5)).not.toEqual(sample);
  expect(samplePages(paths, 'a'.repeat(64), 8).slice(0, 5)).toEqual(sample);
  expect(samplePages(['a.css', 'x.html'], 'a'.repeat(64), 5)).toEqual(['x.html']);
});
