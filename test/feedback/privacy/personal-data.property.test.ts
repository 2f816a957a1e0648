import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PersonalData } from '../../../src/feedback/privacy/personal-data.ts';
import type { Handling } from '../../../src/feedback/privacy/privacy.ts';
import type { FeedbackEntry } from '../../../src/feedback/rules/feedback-entry.ts';
import { entryContent } from '../../../src/feedback/store/queries.ts';
import { privacyWith } from '../../tools/feedback/private-settings.ts';
import { entry } from '../../tools/feedback/temporary-store.ts';

const now = new Date('2026-11-21T08:00:00Z');
const marker = 'PLANTED';
const nothingErased = { now, erased: new Set<string>(), storeKey: 'k' };

/** Texts that all contain the marker, or nothing at all. */
const text = fc.option(fc.string().map((more) => `${more}${marker}${more}`));
const handling = fc.constantFrom<Handling>('keep', 'hash', 'drop');
const anyEntry: fc.Arbitrary<FeedbackEntry> = fc.record({
  id: fc.constant('1'),
  path: fc.constant('/docs'),
  comment: text,
  createdAt: fc.constantFrom(null, '2026-11-20', '2020-01-01', '2999-01-01', 'lately'),
  source: fc.constant('contextual'),
  status: fc.constant('pending'),
  helpful: fc.constantFrom(null, true, false),
  contact: text,
  code: text,
  filename: fc.constant(null),
  lang: fc.constant(null),
  extra: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', marker), fc.jsonValue()),
});

const seen = { first_seen_at: now.toISOString(), last_seen_at: now.toISOString(), deleted_at: null };

describe('personal data', () => {
  it('does not stand in a row where it is not kept, and what is kept stays as it is', () => {
    fc.assert(
      fc.property(anyEntry, handling, handling, (sent, contacts, comments) => {
        const content = entryContent(sent, 'acme', 'prj_1');
        const row = new PersonalData(privacyWith({ contacts, comments }), nothingErased).sent(
          content,
          seen.first_seen_at,
        );
        for (const [column, how] of [
          ['contact', contacts],
          ['comment', comments],
          ['code', comments],
        ] as const) {
          if (how === 'keep') expect(row[column]).toBe(content[column]);
          else expect(row[column] ?? '').not.toContain(marker);
          expect(row[column] === null).toBe(how === 'drop' || content[column] === null);
        }
        expect(row.extra).toBe(contacts === 'keep' && comments === 'keep' ? content.extra : null);
      }),
    );
  });

  it('is treated once: what is stored as the settings ask for stays as it is, whichever way it came there', () => {
    const settings = fc.record({
      contacts: handling,
      comments: handling,
      retentionMs: fc.constantFrom(null, 86_400_000, 864_000_000),
      keepFields: fc.subarray(['a', '__proto__']),
    });
    fc.assert(
      fc.property(anyEntry, settings, (sent, over) => {
        const personal = new PersonalData(privacyWith(over), nothingErased);
        const content = entryContent(sent, 'acme', 'prj_1');
        const fromPage = { ...personal.sent(content, seen.first_seen_at), ...seen };
        expect(personal.stored(fromPage)).toBe(fromPage);
        expect(personal.stored({ ...content, ...seen })).toEqual(fromPage);
      }),
    );
  });

  it('of an erased person is gone wherever the address stands, and of others it stays', () => {
    // Too long for chance: fast-check once wrote `jANE` elsewhere in an entry.
    const name = 'jane.appleseed';
    const erased = new Set([`${name}@mail.example`]);
    const personal = new PersonalData(privacyWith({}), { ...nothingErased, erased });
    const place = fc.constantFrom('comment', 'contact', 'code', 'filename', 'lang', 'path', 'source', 'status');
    fc.assert(
      fc.property(anyEntry, place, fc.constantFrom(' ', '<', ': ', '\n'), (sent, field, before) => {
        const content = entryContent({ ...sent, [field]: `see${before}Jane.Appleseed@mail.example` }, 'acme', 'prj_1');
        const row = personal.sent(content, seen.first_seen_at);
        expect(JSON.stringify(row).toLowerCase()).not.toContain(name);
        if (field === 'contact') expect([row.comment, row.code, row.extra]).toEqual([null, null, null]);
        else expect(row.contact).toBe(content.contact);
        const unnamed = entryContent(sent, 'acme', 'prj_1');
        expect(personal.sent(unnamed, seen.first_seen_at)).toBe(unnamed);
      }),
    );
  });

  it('of a reject is its raw text: any JSON leaves names of fields only', () => {
    const personal = new PersonalData(privacyWith({ comments: 'drop' }), nothingErased);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const { raw } = personal.reject({ id: 'r', raw: JSON.stringify(value), reason: 'x' });
        expect(raw).toMatch(/^field names: (none|([A-Za-z_][\w-]{0,63}|…)(, ([A-Za-z_][\w-]{0,63}|…))*)$/);
        expect(personal.reject({ id: 'r', raw, reason: 'x' }).raw).toBe(raw);
      }),
    );
  });

  it('is recognised by what an entry has, not by where it came from', () => {
    const personal = new PersonalData(privacyWith({}), { ...nothingErased, erased: new Set(['@jane']) });
    expect(personal.sent(entryContent(entry('1', { contact: ' @Jane' }), 'a', 'p'), '').contact).toBeNull();
    expect(personal.sent(entryContent(entry('1', { comment: '@jane' }), 'a', 'p'), '').comment).toBe('@jane');
  });
});
