import { describe, expect, it } from 'vitest';
import type { RejectedEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { privacyWith } from '../../tools/feedback/private-settings.ts';
import { begin, entry, finished, page, temporaryStore } from '../../tools/feedback/temporary-store.ts';

const at = new Date('2026-11-21T09:00:00Z');
const contact = 'Jane.Doe@Mail.Example';
const erased = { contact: null, comment: null, code: null, extra: null };
const unnamed = { ...erased, contact: 'bob@mail.example' };

const hers = entry('1', {
  contact: 'jane.doe@mail.example',
  comment: 'my words',
  code: 'mine()',
  extra: { ip: '::1' },
});
const named = entry('2', { comment: 'Ask Jane.Doe@mail.example, she knows', contact: 'bob@mail.example' });
const others = entry('3', { contact: 'not.jane.doe@mail.example', comment: 'jane.doe@mail.example.org' });
const reject: RejectedEntry = {
  id: 'r',
  raw: String.raw`{"id":"r","contact":"jane.doe\u0040mail.example"}`,
  reason: 'x',
};
const otherReject: RejectedEntry = { id: 's', raw: '{"id":"s","contact":"bob@mail.example"}', reason: 'x' };

let passes = 0;
async function sync(
  store: FeedbackStore,
  project = 'prj_1',
  entries = [hers, named, others],
  rejected = [reject, otherReject],
) {
  passes += 1;
  const passId = `pass-${passes}`;
  await begin(store, passId, { project });
  await store.upsertPage(page(passId, entries, { rejected }));
  return (await store.finishPass(passId, finished)).entries;
}

const personal = "select contact, comment, code, extra from feedback where id in ('1', '2') order by id";

describe('erase', () => {
  it('keeps a person out of texts that name many others, in a language without blanks too', async () => {
    await using db = await temporaryStore();
    const address = 'jane.doe@mail.example';
    const unspaced = Array.from({ length: 10 }, (_, n) => `${'連絡先'.repeat(20)}user${n}@mail.exampleです`).join('');
    const lockFile = Array.from({ length: 3_000 }, (_, n) => `package-${n}@1.2.3`).join('\n');
    const entries = [
      entry('1', { comment: `${unspaced} ${address}` }),
      entry('2', { comment: 'mine', code: `${lockFile}\n${address}` }),
      entry('3', { comment: lockFile.slice(0, 20_000) }),
    ];
    // Nothing else in the page names her.
    await sync(db.store, 'prj_1', entries, []);
    await db.store.erase({ contact, at });
    expect(await sync(db.store, 'prj_1', entries, [])).toMatchObject({ updated: 0 });
    expect(await db.rows('select id, comment, code from feedback order by id')).toMatchObject([
      { id: '1', comment: null },
      { id: '2', comment: 'mine', code: null },
      { id: '3', comment: expect.stringContaining('package-1@') },
    ]);
  });

  it('is kept in the audit with who and counts, and never with the person', async () => {
    await using db = await temporaryStore();
    await sync(db.store);
    await db.store.erase({ contact, at, who: 'anna', org: 'acme', project: 'prj_1' });
    // A person may erase themselves, from a machine that is called as their address is.
    await db.store.erase({ contact, at: new Date(at.getTime() + 1), who: 'JANE.DOE@mail.example' });
    expect(await db.rows('select action, org_id, subject, who, reason, detail from audit order by at')).toEqual([
      {
        action: 'erase',
        org_id: 'acme',
        subject: 'prj_1',
        who: 'anna',
        reason: null,
        detail: '{"entries":2,"changes":0,"rejects":1}',
      },
      {
        action: 'erase',
        org_id: null,
        subject: null,
        who: 'not kept: it names the erased person',
        reason: null,
        detail: '{"entries":0,"changes":0,"rejects":0}',
      },
    ]);
    const [first] = await db.rows('select contact from erasures');
    const kept = JSON.stringify(await db.rows('select * from audit'));
    expect(kept.toLowerCase()).not.toContain('jane');
    expect(kept).not.toContain(`${first?.contact}`);
  });

  it('removes what a person wrote and what names them, in every table and project, and leaves the rest', async () => {
    await using db = await temporaryStore();
    await sync(db.store);
    await sync(db.store, 'prj_2');
    const result = await db.store.erase({ contact, at });
    expect(result).toEqual({
      contact: expect.stringMatching(/^hmac-sha256:[0-9a-f]{64}$/),
      entries: 4,
      changes: 0,
      rejects: 2,
      projects: ['prj_1', 'prj_2'].map((project) => ({ project, entries: 2, changes: 0, rejects: 1 })),
      scrubbed: true,
    });
    expect(await db.rows(personal)).toEqual([erased, erased, unnamed, unnamed]);
    expect(await db.rows("select distinct contact, comment from feedback where id = '3'")).toEqual([
      { contact: 'not.jane.doe@mail.example', comment: 'jane.doe@mail.example.org' },
    ]);
    expect(await db.rows('select distinct id, raw from feedback_rejects order by id')).toEqual([
      { id: 'r', raw: 'field names: id, contact' },
      { id: 's', raw: otherReject.raw },
    ]);
    expect(await db.store.stats('acme', 'prj_1')).toMatchObject({ entries: 3, rejects: 2 });
  });

  it('keeps the person out of the next sync, which counts nothing as changed', async () => {
    await using db = await temporaryStore();
    await sync(db.store);
    await db.store.erase({ contact, at });
    expect(await sync(db.store)).toMatchObject({ seen: 5, unchanged: 3, updated: 0, rejected: 2 });
    expect(await db.rows(personal)).toEqual([erased, unnamed]);
    expect(await db.rows("select raw from feedback_rejects where id = 'r'")).toEqual([
      { raw: 'field names: id, contact' },
    ]);
    await sync(db.store, 'prj_3');
    expect(await db.rows(`${personal.replace('where', "where project_id = 'prj_3' and")}`)).toEqual([erased, unnamed]);
    const fromBob = { ...hers, contact: 'bob@mail.example', comment: 'his words' };
    expect(await sync(db.store, 'prj_1', [fromBob])).toMatchObject({ updated: 1 });
  });

  it('keeps out a person who was not there yet, and leaves a row of each erasure that names no person', async () => {
    await using db = await temporaryStore();
    const first = await db.store.erase({ contact: 'mailto:jane.doe@mail.example', at });
    expect(first).toMatchObject({ entries: 0, changes: 0, rejects: 0, projects: [] });
    await sync(db.store);
    expect(await db.rows(personal)).toEqual([erased, unnamed]);
    const second = await db.store.erase({ contact, at });
    expect(second).toEqual(first);
    const row = { contact: first.contact, project_id: null, erased_at: at.toISOString(), entries: 0, rejects: 0 };
    expect(await db.rows('select * from erasures')).toMatchObject([row, row]);
    await using another = await temporaryStore();
    expect((await another.store.erase({ contact, at })).contact).not.toBe(first.contact);
  });

  it('of one project leaves the others, now and later', async () => {
    await using db = await temporaryStore();
    await sync(db.store);
    await sync(db.store, 'prj_2');
    expect(await db.store.erase({ contact, project: 'prj_1', at })).toMatchObject({ entries: 2, rejects: 1 });
    await sync(db.store);
    await sync(db.store, 'prj_2');
    expect(await db.rows("select project_id, id from feedback where contact = 'jane.doe@mail.example'")).toEqual([
      { project_id: 'prj_2', id: '1' },
    ]);
  });

  it('finds what was hashed, and forgets nothing when the settings change', async () => {
    const hashing = privacyWith({ contacts: 'hash' });
    await using db = await temporaryStore(hashing);
    await sync(db.store);
    expect(await db.store.erase({ contact, at })).toMatchObject({ entries: 2 });
    expect(await db.rows(personal)).toMatchObject([erased, { contact: expect.stringMatching(/^hmac/), comment: null }]);
    const keeping = await db.open();
    await sync(keeping);
    expect(await db.rows(personal)).toEqual([erased, unnamed]);
  });

  it('takes the person out of paths, names of files, statuses and their history', async () => {
    await using db = await temporaryStore();
    const name = 'jane.doe@mail.example';
    const everywhere = entry('4', {
      path: '/docs?mail=jane.doe%40mail.example',
      filename: `${name}/notes.md`,
      lang: name,
      createdAt: name,
      status: name,
      source: name,
    });
    const path = entry('5', { path: `/users/${name}/profile`, extra: { deep: [{ [name]: 1 }] } });
    await sync(db.store, 'prj_1', [{ ...everywhere, status: 'pending' }]);
    await sync(db.store, 'prj_1', [everywhere, path]);
    expect(await db.store.erase({ contact, at })).toMatchObject({ entries: 2, changes: 1 });
    const rows = await db.rows('select * from feedback order by id');
    expect(rows).toMatchObject([
      { id: '4', path: '/docs', filename: null, lang: null, created_at: null, status: 'erased', source: 'erased' },
      { id: '5', path: 'erased', extra: null },
    ]);
    expect(await db.rows('select * from feedback_changes')).toEqual([]);
    expect(await sync(db.store, 'prj_1', [everywhere, path])).toMatchObject({ unchanged: 2 });
    expect(JSON.stringify(await db.rows('select * from feedback'))).not.toContain(name);
  });

  it('finds a contact that is no address, and one with letters beyond ASCII', async () => {
    await using db = await temporaryStore();
    await sync(db.store, 'prj_1', [
      entry('1', { contact: ' @JaneDoe ' }),
      entry('2', { contact: 'JÖRG@Mail.Example' }),
      entry('3', { contact: '@janedoe2' }),
      entry('4', { comment: 'お問い合わせはjane@mail.exampleまで' }),
    ]);
    expect(await db.store.erase({ contact: '@janedoe', at })).toMatchObject({ entries: 1 });
    expect(await db.store.erase({ contact: 'jörg@mail.example', at })).toMatchObject({ entries: 1 });
    expect(await db.store.erase({ contact: 'jane@mail.example', at })).toMatchObject({ entries: 1 });
    expect(await db.rows('select id from feedback where contact is not null')).toEqual([{ id: '3' }]);
  });

  it('finds her behind a thousand packages of a lock file', async () => {
    await using db = await temporaryStore();
    const lockFile = Array.from({ length: 6_000 }, (_, n) => `package-${n}@1.2.3`).join('\n');
    await sync(db.store, 'prj_1', [entry('1', { code: `${lockFile}\n${contact}` }), entry('2', { code: lockFile })]);
    expect(await db.store.erase({ contact, at })).toMatchObject({ entries: 1 });
    expect(await db.rows('select id from feedback where code is not null')).toEqual([{ id: '2' }]);
  });

  it('finds contacts that were hashed before contacts were to be kept', async () => {
    await using db = await temporaryStore(privacyWith({ contacts: 'hash' }));
    await sync(db.store);
    const keeping = await db.open(privacyWith({ contacts: 'keep', comments: 'hash' }));
    await keeping.erase({ contact, at });
    expect(await db.rows("select contact, comment from feedback where id = '1'")).toEqual([
      { contact: null, comment: null },
    ]);
  });

  it('takes the person out of the id of a reject of which only names of fields are left', async () => {
    await using db = await temporaryStore(privacyWith({ comments: 'drop' }));
    await begin(db.store, 'restricted');
    const rejected = [{ id: 'jane.doe@mail.example', raw: '{"id":"jane.doe@mail.example"}', reason: 'x' }];
    await db.store.upsertPage(page('restricted', [], { rejected }));
    await db.store.finishPass('restricted', finished);
    expect(await db.store.erase({ contact, at })).toMatchObject({ rejects: 1 });
    expect(await db.rows('select id, raw from feedback_rejects')).toEqual([
      { id: expect.stringMatching(/^hmac-sha256:/), raw: 'field names: id' },
    ]);
    expect(await db.store.erase({ contact, at })).toMatchObject({ rejects: 0 });
  });

  it('of a comment whose contact was dropped comes with the next sweep', async () => {
    await using db = await temporaryStore(privacyWith({ contacts: 'drop' }));
    await sync(db.store, 'prj_1', [hers]);
    expect(await db.store.erase({ contact, at })).toMatchObject({ entries: 0 });
    await sync(db.store, 'prj_1', [hers]);
    expect(await db.rows('select contact, comment from feedback')).toEqual([{ contact: null, comment: null }]);
  });

  it('takes a name beyond ASCII out of the history of statuses, and leaves deletions and other statuses in it', async () => {
    await using db = await temporaryStore();
    const name = 'jörg@mail.example';
    for (const status of ['pending', name, 'pending', name, 'resolved', 'pending']) {
      await sync(db.store, 'prj_1', [entry('1', { status }), entry('2', { status })]);
    }
    await db.run("insert into feedback_changes values ('prj_1', '1', 'deleted_at', null, '2026-11-21', '2026-11-21')");
    expect(await db.store.erase({ contact: name, at })).toMatchObject({ changes: 8 });
    expect(await db.rows('select distinct field, old, new from feedback_changes order by field')).toEqual([
      { field: 'deleted_at', old: null, new: '2026-11-21' },
      { field: 'status', old: 'resolved', new: 'pending' },
    ]);
  });

  it('goes through more rows than one statement takes', async () => {
    await using db = await temporaryStore();
    const many = Array.from({ length: 1_200 }, (_, n) => ({ ...hers, id: `${n}` }));
    await sync(db.store, 'prj_1', many);
    expect(await db.store.erase({ contact, at })).toMatchObject({ entries: 1_200 });
    expect(
      await db.rows('select count(contact) + count(comment) + count(code) + count(extra) as held from feedback'),
    ).toSatisfy((rows: { held: unknown }[]) => Number(rows[0]?.held) === 0);
  });

  it('and syncs at the same time leave nothing of the person', async () => {
    await using db = await temporaryStore();
    const stores = await Promise.all([db.open(), db.open(), db.open()]);
    const syncs = stores.flatMap((store, n) => [sync(store, `prj_${n}`), sync(store, `prj_${n + 10}`)]);
    await Promise.all([...syncs, db.store.erase({ contact, at })]);
    expect(await db.rows("select id from feedback where contact = 'jane.doe@mail.example'")).toEqual([]);
    expect(await db.rows('select id from feedback')).toHaveLength(18);
  });
});
