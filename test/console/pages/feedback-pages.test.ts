import { describe, expect, it } from 'vitest';
import type { RunningConsole } from '../../../src/console/console.tsx';
import { SearchRefused } from '../../../src/feedback/search/feedback-search.ts';
import { contact, record, searchSetting } from '../../tools/console/fake-search.ts';
import { hostile } from '../../tools/console/fake-setting.ts';
import { type Answer, ask, roles, runningConsole, signIn } from '../../tools/console/running-console.ts';

/** A console over a search, and a browser that is signed in. */
async function looking(
  given: Parameters<typeof searchSetting>[0] = {},
  times = { freshMs: 0, maxWaitMs: 50, firstMs: 50 },
) {
  const { setting, search } = searchSetting(given);
  const console = await runningConsole({ setting, times });
  const cookie = await signIn(console);
  return { console, search, look: (path: string): Promise<Answer> => ask(console, path, { headers: { cookie } }) };
}

/** A console behind a proxy that says who looks. */
async function behindProxy(
  contacts: string[],
): Promise<{ console: RunningConsole; look(path: string, groups: string): Promise<Answer> }> {
  const { setting } = searchSetting({ changes: [] });
  const console = await runningConsole({
    setting,
    proxy: { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' },
    roles: roles({ operators: { groups: ['leads'] }, contacts: { groups: contacts } }),
  });
  return {
    console,
    look: (path, groups) => ask(console, path, { headers: { 'x-user': `of-${groups}`, 'x-groups': groups } }),
  };
}

const marked = {
  text: 'a time out',
  from: 3,
  length: 20,
  marks: [
    [2, 6],
    [7, 10],
  ] as const,
};

describe('the feedback page', () => {
  it('asks the search for what the address says', async () => {
    const { look, search } = await looking();
    await look(
      '/feedback?words=time+out&org=acme&project=prj_1&source=agent&status=open&helpful=no&document=%2Fa&from=2026-11-01&to=2026-11-21&since=2026-11-20T10%3A00Z',
    );
    expect(search.asked).toEqual([
      {
        words: 'time out',
        org: 'acme',
        projects: ['prj_1'],
        sources: ['agent'],
        statuses: ['pending', 'in_progress'],
        helpful: 'no',
        document: '/a',
        since: '2026-11-01T00:00:00.000Z',
        until: '2026-11-21T00:00:00.000Z',
        firstSeenAfter: '2026-11-20T10:00:00.000Z',
        contacts: true,
        limit: 50,
      },
    ]);
  });

  it('shows what was found with the words marked, and says where a text goes on', async () => {
    const { look, search } = await looking();
    const [entry] = (await entriesOf(search)) as [object];
    search.answer = { entries: [{ ...entry, comment: marked }] as never };
    const { text } = await look('/feedback?words=time+out');
    expect(text).toContain(
      '<span class="quiet">… </span>a <mark>time</mark> <mark>out</mark><span class="quiet"> …</span>',
    );
    expect(text).toContain('<a href="/feedback/prj_1/fb_1">');
  });

  it('leads on by cursor, and to the same as a file', async () => {
    const { look, search } = await looking({ answer: { after: 'c/1' } });
    const { text } = await look('/feedback?status=pending');
    expect(text).toContain('href="/feedback?status=pending&amp;after=c%2F1"');
    expect(text).toContain('href="/feedback.csv?status=pending"');
    await look('/feedback?status=pending&after=c%2F1');
    expect(search.asked.at(-1)).toMatchObject({ after: 'c/1' });
  });

  it('groups by page, and leads to the entries of each', async () => {
    const { look } = await looking();
    const { text } = await look('/feedback?words=fails&by=document');
    expect(text).toContain(
      'href="/feedback?words=fails&amp;project=prj_1&amp;all=yes&amp;document=%2Fguides%2Finstall"',
    );
  });

  it('leads from a page to the votes against it', async () => {
    const { look } = await looking();
    const { text } = await look('/feedback?from=2026-10-01&by=document');
    expect(text).toMatch(
      /href="\/feedback\?project=prj_1&amp;helpful=no&amp;all=yes&amp;document=%2Fguides%2Finstall&amp;from=2026-10-01" aria-label="\d+ not helpful: /,
    );
  });

  it('has the usual searches as links, names in words, and days in one form', async () => {
    const { look } = await looking({ records: [record({ source: 'thumbs_only', status: 'in_progress' })] });
    const { text } = await look('/feedback?helpful=no');
    expect(text).toContain('<a href="/feedback?helpful=no" aria-current="true">complaints</a>');
    expect(text).toContain('<a href="/feedback?source=agent">by agents</a>');
    expect(text).toContain('<bdi>page rating</bdi>');
    expect(text).toContain('<bdi>in progress</bdi>');
    expect(text).toContain('<option value="code_snippet">code snippet note</option>');
    expect(text).not.toContain('type="date"');
    expect(text).toMatch(/<input id="from" name="from" type="text" value="" placeholder="YYYY-MM-DD"/);
  });

  it('tells an empty store from a search without hits', async () => {
    const nothing = { total: { count: 0, isExact: true }, entries: [], documents: [], after: null };
    const { look } = await looking({ answer: nothing });
    expect((await look('/feedback')).text).toContain('No comments and code are stored yet');
    expect((await look('/feedback?all=yes')).text).toContain('No feedback is stored yet');
    for (const query of ['words=x', 'helpful=no', 'since=2026-11-20']) {
      const { text } = await look(`/feedback?${query}`);
      expect([query, text.includes('No results.'), text.includes('stored yet')]).toEqual([query, true, false]);
    }
  });

  it('says while the index is being built', async () => {
    const { look, search } = await looking();
    expect((await look('/feedback')).text).not.toContain('is indexing');
    search.answer = { index: { complete: false, percent: 43 } };
    expect((await look('/feedback?words=x')).text).toContain('Indexing stored entries: 43 %');
  });

  it('shows the moment that an address has, however it is written', async () => {
    const { look } = await looking();
    for (const [written, utc] of [
      ['2026-11-20T10:00+01', '20 Nov 2026, 09:00 UTC'],
      ['2026-11-20T10:00:00,5Z', '20 Nov 2026, 10:00 UTC'],
    ] as const) {
      const answer = await look(`/feedback?since=${encodeURIComponent(written)}`);
      expect(answer).toMatchObject({ status: 200, text: expect.stringContaining(utc) });
    }
  });

  it('offers what is new since the last visit', async () => {
    const { setting } = searchSetting();
    const console = await runningConsole({ setting });
    const cookie = await signIn(console);
    const first = await ask(console, '/feedback', { headers: { cookie } });
    const looked = String(first.headers['set-cookie']?.[0]);
    expect(looked).toMatch(/^docferry_console_\d+_looked=.*; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(first.text).not.toContain('since my last visit');
    const [name, value = ''] = looked.split(';')[0]?.split('=') ?? [];
    const earlier = `${value.split('.')[0]}.0.${Date.parse('2026-01-02T03:04:05.000Z')}`;
    const second = await ask(console, '/feedback', { headers: { cookie: `${cookie}; ${name}=${earlier}` } });
    expect(second.text).toContain('href="/feedback?since=2026-01-02T03%3A04%3A05.000Z"');
    expect(second.text).toContain('new since my last visit');
  });

  it('escapes whatever stands in an entry', async () => {
    const everything = record({
      id: hostile,
      path: hostile,
      comment: hostile,
      code: `</code></pre>${hostile}`,
      source: hostile,
      status: hostile,
      contact: hostile,
      filename: hostile,
      lang: hostile,
    });
    const { look } = await looking({
      records: [everything],
      changes: [{ field: hostile, old: hostile, new: hostile, seenAt: everything.last_seen_at }],
    });
    for (const path of ['/feedback', '/feedback?by=document', `/feedback/prj_1/${encodeURIComponent(hostile)}`]) {
      const { status, text } = await look(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text.match(/<script>/g)).toHaveLength(1);
      expect([path, ['<img', '\u202e', '\u0000'].filter((raw) => text.includes(raw))]).toEqual([path, []]);
    }
  });
});

describe('the page of an entry', () => {
  it('has all of it, its history and a link to its page', async () => {
    const { look } = await looking({
      records: [record({ id: 'a/b ?#%', deleted_at: '2026-11-22T00:00:00.000Z', code: 'x'.repeat(50_001) })],
      changes: [
        { field: 'status', old: 'pending', new: 'resolved', seenAt: '2026-11-21T00:00:00.000Z' },
        { field: 'deleted_at', old: null, new: '2026-11-22T00:00:00.000Z', seenAt: '2026-11-22T00:00:00.000Z' },
      ],
    });
    const { status, text } = await look(`/feedback/prj_1/${encodeURIComponent('a/b ?#%')}`);
    expect(status).toBe(200);
    expect(text).toContain('<a href="https://docs.acme.example/guides/install" rel="noreferrer noopener">');
    expect(text).toContain('<bdi>pending</bdi> → <bdi>resolved</bdi>');
    expect(text.match(/deleted at the service/g)).toHaveLength(1);
    expect(text).toContain('and 1 more characters');
    expect(text).toContain(contact);
  });

  it('is not found when there is none', async () => {
    const { look } = await looking();
    expect(await look('/feedback/prj_1/none')).toMatchObject({ status: 404 });
    expect(await look('/feedback/none/fb_1')).toMatchObject({ status: 404 });
    expect(await look('/feedback/prj_1/%E0%A4%A')).toMatchObject({ status: 404 });
  });
});

describe('contacts', () => {
  const places = ['/feedback', '/feedback/prj_1/fb_1', '/feedback.csv', '/feedback.jsonl', '/feedback?by=document'];

  it('are shown to those who may, and to nobody else anywhere', async () => {
    const { look } = await behindProxy(['support']);
    for (const path of places) {
      // Who may see them looks first: nobody else may be shown what was read for them.
      const shown = await look(path, 'support');
      expect([path, shown.status, shown.text.includes(contact)]).toEqual([path, 200, path !== '/feedback?by=document']);
      for (const groups of ['leads', 'staff', '']) {
        const hidden = await look(path, groups);
        expect([path, groups, hidden.status, hidden.text.includes(contact)]).toEqual([path, groups, 200, false]);
      }
    }
  });

  it('are not found by words either: these are looked for in comments and code', async () => {
    const { look, search } = await looking();
    await look(`/feedback?words=${encodeURIComponent(contact)}`);
    expect(search.asked.at(-1)).toMatchObject({ words: contact });
  });
});

describe('files of a selection', () => {
  it('hold the same as the page, as CSV that no spreadsheet runs', async () => {
    const { look, search } = await looking({ records: [record({ comment: '=HYPERLINK("http://evil.example")' })] });
    const { status, headers, text } = await look('/feedback.csv?words=x&by=document&after=c');
    expect([status, headers['content-type']]).toEqual([200, 'text/csv; charset=UTF-8']);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="feedback-\d{4}-\d{2}-\d{2}\.csv"$/);
    expect(text).toMatch(/^org_id,project_id,id,path,comment,/);
    expect(text).toContain(`"'=HYPERLINK(""http://evil.example"")"`);
    expect(search.asked).toEqual([{ words: 'x', contacts: true }]);
  });

  it('are JSON lines too', async () => {
    const { look } = await looking({ records: [record(), record({ id: 'fb_2' })] });
    const { headers, text } = await look('/feedback.jsonl');
    expect(headers['content-type']).toBe('application/x-ndjson; charset=UTF-8');
    const rows = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(rows).toEqual([record(), record({ id: 'fb_2' })]);
  });
});

describe('a file that is only asked about', () => {
  it('is not begun', async () => {
    const { console, look, search } = await looking();
    const cookie = await signIn(console, console.links[0]);
    for (let times = 0; times < 5; times += 1) {
      expect(await ask(console, '/feedback.csv', { method: 'HEAD', headers: { cookie } })).toMatchObject({
        status: 200,
      });
    }
    expect(search.asked).toEqual([]);
    expect(await look('/feedback.csv')).toMatchObject({ status: 200 });
  });
});

describe('what cannot be asked', () => {
  it.each([
    ['/feedback?project=none', 400, 'is not the id of a project in the configuration'],
    ['/feedback?org=none', 400, 'is not the id of an organization'],
    ['/feedback?from=yesterday', 400, 'must be an ISO 8601 date-time or YYYY-MM-DD'],
    ['/feedback?helpful=perhaps', 400, 'must be yes, no, none or nothing'],
    [`/feedback?words=${'x'.repeat(5_000)}`, 413, 'is longer than 1000 characters'],
    ['/feedback.csv?to=2026-13-01', 400, 'must be an ISO 8601'],
  ])('%s is a page that says what to do', async (path, status, says) => {
    const { look, search } = await looking();
    const answer = await look(path);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'text/html; charset=UTF-8']);
    expect(answer.text).toContain(says);
    expect(answer.text).toContain('href="/feedback"');
    expect(search.asked).toEqual([]);
  });

  it('is what the search refuses too, such as only quotes or a cursor of another search', async () => {
    const { look } = await looking({
      before: async () => {
        throw new SearchRefused('words', 'there is no word in it', 'write a word');
      },
    });
    for (const path of ['/feedback?words=%22%22%22', '/feedback?by=document&words=%22', '/feedback.csv?words=%22']) {
      expect(await look(path)).toMatchObject({ status: 400, text: expect.stringMatching(/write a word/i) });
    }
  });

  it('is 10 MB by form', async () => {
    const { console } = await looking();
    const headers = { origin: `http://127.0.0.1:${console.port}`, 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await ask(console, '/feedback', {
      method: 'POST',
      headers,
      body: `words=${'x'.repeat(10_000_000)}`,
    });
    expect(answer).toMatchObject({ status: 413, text: expect.stringContaining('Nothing was done') });
  });
});

describe('while the store is away', () => {
  const away = async () => {
    throw Object.assign(new Error('the store is away'), { code: 'StoreUnavailable' });
  };

  it('every page and file says so', async () => {
    const { look } = await looking({ before: away });
    for (const path of [
      '/feedback',
      '/feedback?by=document',
      '/feedback/prj_1/fb_1',
      '/feedback.csv',
      '/feedback.jsonl',
    ]) {
      expect(await look(path)).toMatchObject({ status: 503, text: expect.stringMatching(/the store is away/i) });
    }
  });

  it('what was read before is shown, and says that it is old', async () => {
    const { look, search } = await looking();
    for (const path of ['/feedback', '/feedback/prj_1/fb_1']) expect(await look(path)).toMatchObject({ status: 200 });
    for (const trouble of [away, () => new Promise<void>(() => {})]) {
      search.before = trouble;
      for (const path of ['/feedback', '/feedback/prj_1/fb_1']) {
        expect(await look(path)).toMatchObject({
          status: 200,
          text: expect.stringContaining('a newer reading failed or is late'),
        });
      }
    }
  });

  it('nothing hangs that was never read', async () => {
    const { look } = await looking({ before: () => new Promise(() => {}) });
    expect(await look('/feedback')).toMatchObject({
      status: 503,
      text: expect.stringContaining('could not be read in time'),
    });
  });
});

/** What the search in memory answers to anything. */
async function entriesOf(search: ReturnType<typeof searchSetting>['search']): Promise<readonly unknown[]> {
  const { setting } = searchSetting({ records: search.records });
  const store = (await setting.openFeedback()) as unknown as {
    findEntries(query: object): Promise<{ entries: unknown[] }>;
  };
  return (await store.findEntries({})).entries;
}
