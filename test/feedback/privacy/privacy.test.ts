import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { RejectedEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { batchesBySize } from '../../../src/feedback/store/queries.ts';
import { privacyWith, testKey } from '../../tools/feedback/private-settings.ts';
import { begin, entry, finished, page, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

const hashOf = (text: string) => `hmac-sha256:${createHmac('sha256', testKey).update(text).digest('hex')}`;

const words = { comment: 'I am Jane', contact: ' Jane@Mail.Example ', code: 'jane()', extra: { ip: '192.0.2.7' } };
const jane = (id = 'a', over: Parameters<typeof entry>[1] = {}) => entry(id, { ...words, ...over });

const reject: RejectedEntry = {
  id: 'r',
  raw: JSON.stringify({ id: 'r', contact: 'jane@mail.example', 'jane@mail.example': 1, createdAt: '2026-11-20' }),
  reason: 'path is missing',
};

let passes = 0;
async function sync(store: FeedbackStore, entries: ReturnType<typeof entry>[], rejected: RejectedEntry[] = []) {
  passes += 1;
  await begin(store, `pass-${passes}`);
  await store.upsertPage(page(`pass-${passes}`, entries, { rejected }));
  return (await store.finishPass(`pass-${passes}`, finished)).entries;
}

async function personalSince(store: FeedbackStore): Promise<string | null | undefined> {
  return (await store.storedProjects([{ org: 'acme', project: 'prj_1' }], 0, tenDaysLater))[0]?.personalSince;
}

const personal = 'select contact, comment, code, extra from feedback order by id';
const day = 86_400_000;
/** When pages of these tests are seen, and a moment ten days later. */
const [seenAt, tenDaysLater] = [new Date('2026-11-21T08:00:01Z'), new Date('2026-12-01T08:00:01Z')];

describe('hash', () => {
  it('stores keyed hashes of contact, comment and code instead, the contact without case and blanks', async () => {
    await using at = await temporaryStore(privacyWith({ contacts: 'hash', comments: 'hash' }));
    await sync(at.store, [jane('a'), jane('b', { contact: 'mailto:jane@mail.example' }), entry('c')]);
    const hashed = {
      contact: hashOf('jane@mail.example'),
      comment: hashOf('I am Jane'),
      code: hashOf('jane()'),
      extra: null,
    };
    const nothing = { contact: null, comment: null, code: null, extra: null };
    expect(await at.rows(personal)).toEqual([hashed, hashed, nothing]);
  });

  it('counts what comes again as unchanged, and a changed comment as updated', async () => {
    await using at = await temporaryStore(privacyWith({ contacts: 'hash', comments: 'hash' }));
    expect(await sync(at.store, [jane()], [reject])).toMatchObject({ inserted: 1, rejected: 1 });
    expect(await sync(at.store, [jane()], [reject])).toMatchObject({ unchanged: 1, updated: 0 });
    expect(await sync(at.store, [jane('a', { comment: 'else' })])).toMatchObject({ unchanged: 0, updated: 1 });
  });

  it('hashes what only looks like a hash', async () => {
    await using at = await temporaryStore(privacyWith({ comments: 'hash' }));
    const forged = hashOf('forged');
    await sync(at.store, [jane('a', { comment: forged })]);
    expect(await at.rows('select comment, contact from feedback')).toEqual([
      { comment: hashOf(forged), contact: ' Jane@Mail.Example ' },
    ]);
  });
});

describe('drop', () => {
  it.each([
    [{ contacts: 'drop' }, { contact: null, comment: 'I am Jane', code: 'jane()', extra: null }],
    [{ comments: 'drop' }, { contact: ' Jane@Mail.Example ', comment: null, code: null, extra: null }],
  ] as const)('with %j leaves the rest, but for unknown fields', async (settings, row) => {
    await using at = await temporaryStore(privacyWith(settings));
    await sync(at.store, [jane()]);
    expect(await at.rows(personal)).toEqual([row]);
    expect(await sync(at.store, [jane()])).toMatchObject({ unchanged: 1 });
  });

  it('keeps the unknown fields that are listed', async () => {
    await using at = await temporaryStore(privacyWith({ contacts: 'drop', keepFields: ['locale', 'toString'] }));
    await sync(at.store, [jane('a', { extra: { ip: '192.0.2.7', locale: 'de' } })]);
    expect(await at.rows('select extra from feedback')).toEqual([{ extra: '{"locale":"de"}' }]);
  });
});

describe.each(['hash', 'drop'] as const)('rejects with %s', (comments) => {
  it('keep only reason and field names, and no digest of their text', async () => {
    await using at = await temporaryStore(privacyWith({ comments }));
    const digest = 'sha256:0123456789abcdef0123456789abcdef';
    await sync(at.store, [], [reject, { id: digest, raw: '"jane@mail.example"', reason: 'no object' }]);
    const rows = await at.rows('select id, raw, reason from feedback_rejects order by raw');
    expect(rows).toEqual([
      { id: 'r', raw: 'field names: id, contact, …, createdAt', reason: 'path is missing' },
      { id: expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/), raw: 'field names: none', reason: 'no object' },
    ]);
    expect(JSON.stringify(rows)).not.toContain(digest);
    await sync(at.store, [], [reject, { id: digest, raw: '"jane@mail.example"', reason: 'no object' }]);
    expect(await at.rows('select id, raw, reason from feedback_rejects order by raw')).toEqual(rows);
  });
});

describe('another setting than before', () => {
  it('is applied to texts of megabytes, of which few are in memory at a time', async () => {
    expect(batchesBySize([5e6, 3e6, 1e6, 9e6, 1e6].map((bytes) => ({ bytes }))).map((batch) => batch.length)).toEqual([
      2, 1, 1, 1,
    ]);
    await using at = await temporaryStore();
    const long = 'x'.repeat(5_000_000);
    const ids = ['a', 'b', 'c'];
    await sync(
      at.store,
      ids.map((id) => ({ ...jane(id), comment: long })),
      ids.map((id) => ({ id: `r${id}`, raw: JSON.stringify({ id, comment: long }), reason: 'path is missing' })),
    );
    const stricter = await at.open(privacyWith({ comments: 'drop' }));
    expect(await stricter.countUntreated(seenAt)).toEqual({ entries: 3, rejects: 3 });
    expect(await stricter.applyPrivacy(seenAt)).toEqual({ entries: 3, rejects: 3 });
    expect(await stricter.countUntreated(seenAt)).toEqual({ entries: 0, rejects: 0 });
  });

  it('is applied once to everything stored, also of projects that are no longer synced', async () => {
    await using at = await temporaryStore();
    const many = Array.from({ length: 1_200 }, (_, n) => jane(`${n}`.padStart(4, '0')));
    await sync(at.store, many, [reject]);
    await wholePass(at.store, 'other', [jane('else')], { project: 'prj_2' });
    await at.run("update feedback set deleted_at = '2026-11-20T00:00:00.000Z' where id = '0007'");
    const stricter = await at.open(privacyWith({ contacts: 'hash', comments: 'drop', keepFields: ['ip'] }));
    expect(await stricter.countUntreated(seenAt)).toEqual({ entries: 1_201, rejects: 1 });
    expect(await stricter.applyPrivacy(seenAt)).toEqual({ entries: 1_201, rejects: 1 });
    expect(await stricter.countUntreated(seenAt)).toEqual({ entries: 0, rejects: 0 });
    expect(await stricter.applyPrivacy(seenAt)).toEqual({ entries: 0, rejects: 0 });
    expect(await at.rows('select distinct contact, comment, code, extra from feedback')).toEqual([
      { contact: hashOf('jane@mail.example'), comment: null, code: null, extra: '{"ip":"192.0.2.7"}' },
    ]);
    expect(await at.rows('select raw from feedback_rejects')).toEqual([
      { raw: 'field names: id, contact, …, createdAt' },
    ]);
    expect(await sync(stricter, many.slice(0, 7))).toMatchObject({ unchanged: 7, updated: 0 });
  });

  it('counts no entry as updated for it alone when a page comes before the store was treated', async () => {
    await using at = await temporaryStore();
    await sync(at.store, [jane('a'), jane('b')]);
    const stricter = await at.open(privacyWith({ contacts: 'drop', comments: 'hash' }));
    const changed = jane('b', { status: 'resolved' });
    expect(await sync(stricter, [jane('a'), changed])).toMatchObject({ unchanged: 1, updated: 1 });
    expect(await at.rows('select contact, comment from feedback order by id')).toEqual([
      { contact: null, comment: hashOf('I am Jane') },
      { contact: null, comment: hashOf('I am Jane') },
    ]);
    expect(await at.rows('select field, old, new from feedback_changes')).toEqual([
      { field: 'status', old: 'pending', new: 'resolved' },
    ]);
  });

  it('set back to keep changes nothing until the next sync brings the data', async () => {
    await using at = await temporaryStore(privacyWith({ contacts: 'hash', comments: 'drop' }));
    await sync(at.store, [jane()]);
    const keeping = await at.open();
    expect(await keeping.applyPrivacy(seenAt)).toEqual({ entries: 0, rejects: 0 });
    expect(await sync(keeping, [jane()])).toMatchObject({ updated: 1 });
    expect(await at.rows('select contact, comment from feedback')).toEqual([
      { contact: ' Jane@Mail.Example ', comment: 'I am Jane' },
    ]);
  });
});

describe('retention', () => {
  const old = { createdAt: '2026-10-01T00:00:00Z' };

  it('never takes in what is too old, and tells it by first sight where there is no date', async () => {
    await using at = await temporaryStore(privacyWith({ retentionMs: 10 * day }));
    const entries = [jane('a', old), jane('b'), jane('c', { createdAt: null }), jane('d', { createdAt: '2999-01-01' })];
    await sync(at.store, entries);
    expect(await at.rows('select id from feedback where contact is not null order by id')).toEqual([
      { id: 'b' },
      { id: 'c' },
      { id: 'd' },
    ]);
    expect(await sync(at.store, entries)).toMatchObject({ unchanged: 4 });
    expect(await personalSince(at.store)).toBe('2026-11-20T10:00:00.000Z');
  });

  it('takes contact, comment, code and unknown fields of what has become too old, and leaves what is counted', async () => {
    await using at = await temporaryStore(privacyWith({ retentionMs: 10 * day }));
    const young = jane('y', { createdAt: '2026-11-22T00:00:00Z' });
    const entries = [
      jane('a', { helpful: true }),
      jane('b', { createdAt: null }),
      jane('c', { createdAt: '2999-01-01' }),
    ];
    await sync(at.store, [...entries, young]);
    expect(await at.store.expire(['prj_1'], new Date('2026-11-29T00:00:00Z'))).toEqual({ entries: 0, rejects: 0 });
    const later = new Date(tenDaysLater.getTime() + 1_000);
    expect(await at.store.expire(['prj_1'], later)).toEqual({ entries: 3, rejects: 0 });
    expect(await at.store.expire(['prj_1'], later)).toEqual({ entries: 0, rejects: 0 });
    expect(await at.rows("select * from feedback where id = 'a'")).toMatchObject([
      { contact: null, comment: null, code: null, extra: null, helpful: 1, path: '/docs/start', status: 'pending' },
    ]);
    expect(await at.rows('select id from feedback where contact is not null')).toEqual([{ id: 'y' }]);
    expect(await personalSince(at.store)).toBe('2026-11-22T00:00:00.000Z');
  });

  it('does not count as an update what the next sync no longer brings', async () => {
    await using at = await temporaryStore(privacyWith({ retentionMs: 10 * day }));
    await sync(at.store, [jane()]);
    await begin(at.store, 'later', { startedAt: tenDaysLater });
    const { counts } = await at.store.upsertPage(page('later', [jane()], { seenAt: tenDaysLater }));
    expect(counts).toMatchObject({ unchanged: 1, updated: 0 });
    expect(await at.rows(personal)).toEqual([{ contact: null, comment: null, code: null, extra: null }]);
  });

  it('is no change that webhooks are told of when the next sync brings what has become too old', async () => {
    await using at = await temporaryStore(privacyWith({ retentionMs: 10 * day }));
    await sync(at.store, [jane('a'), jane('b')]);
    const positions = () => at.rows('select id, change from feedback_positions order by id');
    const [ofA, ofB] = await positions();
    await begin(at.store, 'later', { startedAt: tenDaysLater });
    const entries = [jane('a'), jane('b', { status: 'resolved' })];
    await at.store.upsertPage(page('later', entries, { seenAt: tenDaysLater }));
    expect(await positions()).toEqual([ofA, { id: 'b', change: expect.anything() }]);
    expect((await positions())[1]).not.toEqual(ofB);
  });

  it('goes for rejects by the date they tell; one without a date is never kept whole', async () => {
    await using at = await temporaryStore(privacyWith({ retentionMs: 10 * day }));
    const undated = { id: 's', raw: '{"id":"s","comment":7}', reason: 'comment: expected text' };
    await sync(at.store, [], [reject, undated]);
    const raws = () => at.rows('select raw from feedback_rejects order by id');
    expect(await raws()).toEqual([{ raw: reject.raw }, { raw: 'field names: id, comment' }]);
    expect(await at.store.expire(['prj_1'], tenDaysLater)).toEqual({ entries: 0, rejects: 1 });
    expect(await raws()).toEqual([
      { raw: 'field names: id, contact, …, createdAt' },
      { raw: 'field names: id, comment' },
    ]);
  });

  it('is applied to many at the start of a worker', async () => {
    await using at = await temporaryStore();
    await sync(
      at.store,
      Array.from({ length: 1_100 }, (_, n) => jane(`${n}`, old)),
    );
    const store = await at.open(privacyWith({ retentionMs: 10 * day }));
    expect(await store.countUntreated(seenAt)).toEqual({ entries: 1_100, rejects: 0 });
    expect(await store.applyPrivacy(seenAt)).toEqual({ entries: 1_100, rejects: 0 });
    expect(await personalSince(store)).toBeNull();
  });
});
