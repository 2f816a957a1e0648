import { expect, it } from 'vitest';
import { PageFindings, samplePages } from '../../../src/exports/verify/render-site.ts';

it('keeps 25 different findings of each rule, cut to 300 characters, and counts the rest', () => {
  const findings = new PageFindings();
  for (let i = 0; i < 1_000; i++) findings.add('page-script-error', `${i} ${'x'.repeat(100_000)}`);
  for (let i = 0; i < 3; i++) findings.add('page-does-not-render', 'it does not load');
  const kept = findings.of('page-script-error');
  expect([kept.length, findings.dropped('page-script-error')]).toEqual([25, 975]);
  expect(new Set(kept.map(({ length }) => length))).toEqual(new Set([300]));
  expect(findings.of('page-does-not-render')).toEqual(['it does not load']);
  expect([findings.of('page-request-failed'), findings.dropped('page-request-failed')]).toEqual([[], 0]);
});

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
