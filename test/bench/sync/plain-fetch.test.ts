import { expect, it } from 'vitest';
import type { StatusEntry } from '../../../bench/status/status-changes.ts';
import { plainFetch } from '../../../bench/sync/plain-fetch.ts';
import { sandboxWith } from '../../sandbox/support.ts';

it('a plain script reads every entry, or those of some days, and counts its requests', async () => {
  const sandbox = await sandboxWith({ entries: 450, days: 100, requests: 1_000 });
  const source = { service: sandbox.url, key: sandbox.apiKey, project: 'prj_1' };
  const truth = [...sandbox.truth('prj_1')] as StatusEntry[];
  const held = new Map<string, string>();
  expect(await plainFetch(source, held)).toBe(5);
  expect(held).toEqual(new Map(truth.map(({ id, status }) => [id, status])));

  const [first] = truth
    .filter(({ createdAt }) => createdAt !== null)
    .map(({ createdAt }) => createdAt ?? '')
    .sort()
    .slice(-40);
  const later = new Map<string, string>();
  expect(await plainFetch(source, later, first)).toBe(1);
  expect(later.size).toBe(40);
});
