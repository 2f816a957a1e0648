import { describe, expect, it, onTestFinished } from 'vitest';
import type { AuditEntry } from '../../../src/runs/rules/audit.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { ask, runningConsole, signIn } from '../../tools/console/running-console.ts';
import { temporaryStore } from '../../tools/feedback/temporary-store.ts';

const entry: AuditEntry = {
  entryId: 'run/update',
  at: '2026-11-21T08:00:00.000Z',
  action: 'approve',
  org: 'acme',
  subject: 'docs.acme.example',
  who: 'ada@acme.example',
  reason: 'as agreed',
  detail: '{"version":"v1"}',
  workflowId: null,
};

/** A console over a real store with these audit entries, and what its audit shows under an address. */
async function auditOf(auditEntries: AuditEntry[]) {
  const at = await temporaryStore();
  await at.store.recordAuditEntries(auditEntries);
  const setting = { ...fakeSetting({ calls: [], auditEntries: [] }), openFeedback: async () => at.open() };
  const console = await runningConsole({ setting });
  onTestFinished(() => at[Symbol.asyncDispose]());
  const cookie = await signIn(console);
  return {
    at,
    async show(address: string) {
      const { status, text } = await ask(console, address, { headers: { cookie } });
      const rows = text.split('<tr>').slice(2);
      const cells = rows.map((row) =>
        ['scope="row"', 'data-name="did"', 'data-name="what"', 'data-name="why"'].map(
          (mark) => new RegExp(`${mark}>(.*?)</t[dh]>`).exec(row)?.[1],
        ),
      );
      const [, older] = /<a href="([^"]+)">Older<\/a>/.exec(text) ?? [];
      return {
        status,
        text,
        rows: cells.map((row) => row.map((cell) => cell?.replace(/<[^>]+>/g, ''))),
        older: older?.replaceAll('&amp;', '&') ?? null,
      };
    },
  };
}

describe('the audit in the console', () => {
  it('shows what was done, newest first, and narrows it down by its address', async () => {
    const now = new Date().toISOString();
    const { show } = await auditOf([
      entry,
      { ...entry, entryId: '2', at: now, action: 'hold', who: 'Bert', reason: null, detail: '{}' },
      {
        ...entry,
        entryId: '3',
        org: 'other',
        subject: 'prj_7',
        action: 'erase',
        reason: null,
        detail: '{"entries":2}',
      },
      { ...entry, entryId: '4', org: null, subject: null, who: '100%_of us', action: 'erase', reason: null },
    ]);
    const all = await show('/audit');
    expect(all.status).toBe(200);
    expect(all.rows).toEqual([
      ['Bert', 'held the site', 'docs.acme.example', ''],
      ['ada@acme.example', 'approved a version', 'docs.acme.example', 'as agreed · version v1'],
      ['100%_of us', 'erased a person’s data', 'everything', 'version v1'],
      ['ada@acme.example', 'erased a person’s data', 'prj_7', '2 entries'],
    ]);
    expect(all.text).toContain('href="/sites/acme/docs.acme.example"');
    expect(all.text).toContain('aria-current="page"');
    const found = async (query: string) => (await show(`/audit?${query}`)).rows.map(([who, did]) => `${who}: ${did}`);
    expect(await found('since=1d')).toEqual(['Bert: held the site']);
    expect(await found('org=other')).toEqual(['ada@acme.example: erased a person’s data']);
    expect(await found('name=PRJ')).toEqual(['ada@acme.example: erased a person’s data']);
    expect(await found('action=approve')).toEqual(['ada@acme.example: approved a version']);
    expect(await found('who=bert')).toEqual(['Bert: held the site']);
    // What SQL takes for patterns is text.
    expect(await found('who=%25_')).toEqual(['100%_of us: erased a person’s data']);
    expect(await found(`who=${encodeURIComponent("' or 1=1 --")}`)).toEqual([]);
    const { text } = await show('/audit?action=hold&who=Be%22rt');
    expect(text).toContain('<option value="hold" selected="">held the site</option>');
    expect(text).toContain('value="Be&quot;rt"');
  });

  it('says in words for how long and how much', async () => {
    const { show } = await auditOf([
      {
        ...entry,
        reason: null,
        entryId: '1',
        action: 'budget-set',
        detail: '{"requests":50,"reserve":5,"forMs":900000}',
      },
      { ...entry, reason: null, entryId: '2', action: 'budget-pause', detail: '{"forMs":null}' },
      { ...entry, reason: null, entryId: '3', action: 'rollback', detail: '{"version":"v1","previous":null}' },
    ]);
    const words = (await show('/audit')).rows.map(([, did, , details]) => `${did}: ${details}`);
    expect(words.sort()).toEqual([
      'paused the budget: without an end',
      'set the budget: 50 requests, reserve 5, for 15 min',
      'started a rollback: version v1, nothing was in service',
    ]);
  });

  it('goes on where the page before ended, even among audit entries of the same moment', async () => {
    const auditEntries = Array.from({ length: 120 }, (_, nth) => ({ ...entry, entryId: `r/${nth}`, who: `w${nth}` }));
    const { show, at } = await auditOf(auditEntries);
    const seen: (string | undefined)[] = [];
    let pages = 0;
    for (let next: string | null = '/audit?org=acme'; next !== null; pages += 1) {
      const { rows, older } = await show(next);
      seen.push(...rows.map(([who]) => who));
      next = older;
      // What comes meanwhile moves no page.
      await at.store.recordAuditEntries([{ ...entry, entryId: `new/${pages}`, at: '2026-11-22T00:00:00.000Z' }]);
    }
    expect([pages, seen.length, new Set(seen).size]).toEqual([3, 120, 120]);
  });

  it.each(['since=soon', 'action=everything', 'after=x', `who=${'x'.repeat(301)}`])(
    'says what is wrong with %s',
    async (query) => {
      const { show } = await auditOf([entry]);
      const { status, text } = await show(`/audit?${query}`);
      const [field] = query.split('=');
      expect([status, text.includes(`&quot;${field}&quot;`)]).toEqual([400, true]);
    },
  );

  it('shows of an erasure who did it and how much, and never the person', async () => {
    const { show, at } = await auditOf([]);
    const request = { contact: 'Jane@mail.example', at: new Date() };
    await at.store.erase({ ...request, who: 'carl' });
    await at.store.erase({ ...request, who: 'jane@mail.example' });
    const { rows, text } = await show('/audit?action=erase');
    expect(rows.map(([who]) => who).sort()).toEqual(['carl', 'not kept: it names the erased person']);
    expect(text.toLowerCase()).not.toContain('jane');
  });
});
