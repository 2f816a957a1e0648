import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import { begin, entry, finished, page, temporaryStore } from '../../tools/feedback/temporary-store.ts';
import { propertyRuns } from '../../tools/property-runs.ts';

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
