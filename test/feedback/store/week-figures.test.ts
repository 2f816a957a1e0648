import { expect, it } from 'vitest';
import { keyedHash } from '../../../src/feedback/privacy/personal-data.ts';
import { privacyWith } from '../../tools/feedback/private-settings.ts';
import { entry, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

const [from, to] = ['2026-11-16T09:00:00.000Z', '2026-11-23T09:00:00.000Z'];

it('knows no words where comments are hashed or blank', async () => {
  await using at = await temporaryStore(privacyWith({ comments: 'hash' }));
  await wholePass(at.store, 'hashed', [entry('a', { comment: 'secret words' }), entry('b')]);
  const keeping = await at.open();
  await wholePass(keeping, 'plain', [
    entry('c', { comment: '  ' }),
    entry('d', { comment: 'hmac-sha256: is a prefix' }),
    entry('e', { comment: `x${keyedHash('key', 'text').slice(1)}` }),
  ]);
  const { comments } = await at.store.weekFigures('acme', from, to);
  expect(comments.count).toBe(2);
  expect(comments.newest.map(({ comment }) => comment)).toEqual([
    'hmac-sha256: is a prefix',
    `x${keyedHash('key', 'text').slice(1)}`,
  ]);
});

it('takes nothing for new that was written more than a week before, which a first reading brings', async () => {
  await using at = await temporaryStore();
  const said = (id: string, createdAt: string | null) =>
    entry(id, { comment: id, createdAt, helpful: false, path: `/${id}` });
  await wholePass(at.store, 'first', [
    said('past', '2024-05-01T00:00:00Z'),
    said('before', '2026-11-09T08:59:59Z'),
    said('late', '2026-11-09T09:00:00Z'),
    said('newest', '2026-11-21T07:00:00Z'),
    said('in the week', '2026-11-17T10:00:00Z'),
    said('undated', null),
  ]);
  const { comments, worstPages } = await at.store.weekFigures('acme', from, to);
  expect(comments).toMatchObject({
    count: 4,
    newest: [{ comment: 'undated' }, { comment: 'newest' }, { comment: 'in the week' }],
  });
  expect(worstPages.map(({ path }) => path)).toEqual(['/in the week', '/late', '/newest']);
});
