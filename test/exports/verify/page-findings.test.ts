import { expect, it } from 'vitest';
import { PageFindings } from '../../../src/exports/verify/render-site.ts';

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
