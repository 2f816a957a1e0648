import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import { begin, entry, finished, page, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

describe('a pass', () => {
  it('begins at the first page', async () => {
    await using at = await temporaryStore();
    expect(await begin(at.store, 'p', { dateFrom: '2026-01-01T00:00:00.000Z' })).toEqual({
      passId: 'p',
      org: 'acme',
      project: 'prj_1',
      pass: 'sweep',
      workflowId: 'sync:acme:prj_1:sweep',
      runId: 'run-of-p',
      dateFrom: '2026-01-01T00:00:00.000Z',
      dateTo: null,
      startedAt: '2026-11-21T08:00:00.000Z',
      finishedAt: null,
      outcome: 'running',
      error: null,
      pages: 0,
      requests: 0,
      throttled: 0,
      waitedMs: 0,
      entries: { seen: 0, inserted: 0, updated: 0, unchanged: 0, rejected: 0, tombstoned: 0 },
      greatestCreatedAt: null,
      expectedPages: null,
      position: { page: 0, cursor: null, complete: false },
    });
    expect(await at.store.getPass('unknown')).toBeNull();
  });

  it('is joined at its position by an attempt that begins it again', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await at.store.upsertPage(page('p', [entry('a')], { nextCursor: 'c', hasMore: true }));
    const before = await at.store.getPass('p');
    expect(await begin(at.store, 'p', { runId: 'another run', startedAt: new Date('2027-01-01') })).toEqual(before);
  });

  it('ends once: the first result stays', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await at.store.countRequests('p', { requests: 4, throttled: 1 });
    await at.store.countRequests('p', { requests: 5, throttled: 1 });
    const result = {
      outcome: 'failed',
      error: 'ServerError: 500 at page 3',
      waitedMs: 3_000_000_000,
      finishedAt: new Date('2026-11-21T09:00:00Z'),
    } as const;
    const ended = await at.store.finishPass('p', result);
    expect(ended).toMatchObject({ ...result, finishedAt: '2026-11-21T09:00:00.000Z' });
    expect(await at.store.finishPass('p', { ...finished, outcome: 'cancelled' })).toEqual(ended);
    expect(await at.store.getPass('p')).toEqual(ended);
    await expect(at.store.finishPass('unknown', finished)).rejects.toThrow('no sync pass unknown');
  });

  it('is never completed before its last page was committed', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'p');
    await at.store.upsertPage(page('p', [entry('a')], { nextCursor: 'c', hasMore: true }));
    await expect(at.store.finishPass('p', finished)).rejects.toThrow('page 2 was not committed');
    expect((await at.store.getPass('p'))?.outcome).toBe('running');
  });

  it('is listed newest first, by organization and project, up to a limit', async () => {
    await using at = await temporaryStore();
    await begin(at.store, 'old', { startedAt: new Date('2026-01-01') });
    await begin(at.store, 'new', { startedAt: new Date('2026-03-01') });
    await begin(at.store, 'other project', { project: 'prj_2', startedAt: new Date('2026-02-01') });
    await begin(at.store, 'other org', { org: 'globex', startedAt: new Date('2026-04-01') });
    const ids = async (filter: Parameters<typeof at.store.listPasses>[0]) =>
      (await at.store.listPasses(filter)).map((pass) => pass.passId);
    expect(await ids({})).toEqual(['other org', 'new', 'other project', 'old']);
    expect(await ids({ org: 'acme' })).toEqual(['new', 'other project', 'old']);
    expect(await ids({ org: 'acme', project: 'prj_1' })).toEqual(['new', 'old']);
    expect(await ids({ limit: 2 })).toEqual(['other org', 'new']);
    await at.store.finishPass('new', { ...finished, outcome: 'failed', error: 'x' });
    expect(await ids({ outcome: 'failed' })).toEqual(['new']);
    expect(await ids({ since: '2026-02-01T00:00:00.000Z' })).toEqual(['other org', 'new', 'other project']);
  });
});

describe('the watermark', () => {
  const on = (day: string) => entry(`of ${day}`, { createdAt: `2026-11-${day}T00:00:00Z` });
  const at15 = '2026-11-15T00:00:00.000Z';

  it('is the greatest createdAt of passes that completed, of this project only', async () => {
    await using at = await temporaryStore();
    const watermark = () => at.store.watermark('acme', 'prj_1');
    expect(await watermark()).toBeNull();
    await begin(at.store, 'running');
    await at.store.upsertPage(page('running', [on('20')]));
    await begin(at.store, 'failed');
    await at.store.upsertPage(page('failed', [on('19')]));
    await at.store.finishPass('failed', { ...finished, outcome: 'failed' });
    await wholePass(at.store, 'other project', [on('18')], { project: 'prj_2' });
    await wholePass(at.store, 'other org', [on('18')], { org: 'globex' });
    expect(await watermark()).toBeNull();
    await wholePass(at.store, 'first', [on('15'), on('10')]);
    expect(await watermark()).toBe(at15);
    await wholePass(at.store, 'older', [on('12')]);
    await wholePass(at.store, 'empty', []);
    expect(await watermark()).toBe(at15);
    await at.store.finishPass('running', finished);
    expect(await watermark()).toBe('2026-11-20T00:00:00.000Z');
  });

  it('moves with an incremental pass that begins at or before it', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', [on('15')]);
    await wholePass(at.store, 'next', [on('16'), on('15')], { pass: 'incremental', dateFrom: at15 });
    expect(await at.store.watermark('acme', 'prj_1')).toBe('2026-11-16T00:00:00.000Z');
  });

  it('does not jump over a gap that was not read', async () => {
    await using at = await temporaryStore();
    const late = { pass: 'incremental', dateFrom: '2026-11-18T00:00:00.000Z' } as const;
    await wholePass(at.store, 'before anything', [on('18')], late);
    expect(await at.store.watermark('acme', 'prj_1')).toBeNull();
    await wholePass(at.store, 'first', [on('15')]);
    await wholePass(at.store, 'after a gap', [on('19')], late);
    expect(await at.store.watermark('acme', 'prj_1')).toBe(at15);
  });

  it('is not moved by a review, which reads some statuses only', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'first', [on('15')]);
    await wholePass(at.store, 'review', [on('19')], { pass: 'review' });
    expect(await at.store.watermark('acme', 'prj_1')).toBe(at15);
  });
});

describe('everSwept', () => {
  it('is true after a whole sweep of the project has completed', async () => {
    await using at = await temporaryStore();
    const swept = () => at.store.everSwept('acme', 'prj_1');
    await wholePass(at.store, 'incremental', [], { pass: 'incremental' });
    await wholePass(at.store, 'from', [], { dateFrom: '2026-01-01T00:00:00.000Z' });
    await wholePass(at.store, 'to', [], { dateTo: '2026-01-01T00:00:00.000Z' });
    await wholePass(at.store, 'other project', [], { project: 'prj_2' });
    await begin(at.store, 'failed');
    await at.store.finishPass('failed', { ...finished, outcome: 'failed' });
    await begin(at.store, 'running');
    expect(await swept()).toBe(false);
    await wholePass(at.store, 'whole', []);
    expect(await swept()).toBe(true);
  });
});

const entries: fc.Arbitrary<FeedbackEntry> = fc
  .record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    status: fc.constantFrom('pending', 'in_progress', 'resolved'),
    comment: fc.option(fc.constantFrom('x', 'y'), { nil: null }),
  })
  .map(({ id, ...over }) => entry(id, over));
const rejects = fc.constantFrom('a', 'b', 'z').map((id) => ({ id, raw: '{}', reason: 'path: missing' }));
const pages = fc.array(
  fc.record({
    entries: fc.array(entries, { maxLength: 8 }),
    rejected: fc.array(rejects, { maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 6 },
);

it('any sequence of pages ends with the last version of each id, exact counts and an unbroken history', async () => {
  await using at = await temporaryStore();
  let number = 0;
  await fc.assert(
    fc.asyncProperty(pages, async (sequence) => {
      number += 1;
      const passId = `pass-${number}`;
      const project = `prj-${number}`;
      let { position } = await begin(at.store, passId, { project });
      for (const [index, sent] of sequence.entries()) {
        const hasMore = index < sequence.length - 1;
        const commit = page(passId, sent.entries, { from: position, rejected: sent.rejected });
        const next = hasMore ? { hasMore, nextCursor: `cursor ${index}` } : {};
        position = (await at.store.upsertPage({ ...commit, ...next })).position;
      }
      const pass = await at.store.finishPass(passId, finished);

      const sentEntries = sequence.flatMap((sent) => sent.entries);
      const sentRejects = sequence.flatMap((sent) => sent.rejected);
      const last = new Map(sentEntries.map((sent) => [sent.id, sent]));
      const { seen, inserted, updated, unchanged, rejected } = pass.entries;
      expect(seen).toBe(sentEntries.length + sentRejects.length);
      expect(rejected).toBe(sentRejects.length);
      expect(inserted).toBe(last.size);
      expect(inserted + updated + unchanged + rejected).toBe(seen);

      const rows = await at.rows(
        `select id, status, comment from feedback where project_id = '${project}' order by id`,
      );
      const expected = [...last.values()].map(({ id, status, comment }) => ({ id, status, comment }));
      expect(rows).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));

      const changes = await at.rows(
        `select id, old, new from feedback_changes where project_id = '${project}' order by ${at.insertion}`,
      );
      const observed = sentEntries.flatMap((sent, index) => {
        const before = sentEntries.slice(0, index).findLast(({ id }) => id === sent.id);
        const changed = before !== undefined && before.status !== sent.status;
        return changed ? [{ id: sent.id, old: before.status, new: sent.status }] : [];
      });
      expect(changes).toEqual(observed);
    }),
    { numRuns: propertyRuns(60) },
  );
});
