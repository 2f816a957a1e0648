import { describe, expect, it, onTestFinished } from 'vitest';
import { contact } from '../../tools/console/fake-search.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { hostileEntries } from '../../tools/console/hostile-entries.ts';
import { ask, roles, runningConsole } from '../../tools/console/running-console.ts';
import { entry, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

/** A console over a real store, looked at as a proxy says. */
async function overStore(entries: Parameters<typeof wholePass>[2]) {
  const temporary = await temporaryStore();
  onTestFinished(() => temporary[Symbol.asyncDispose]());
  await wholePass(temporary.store, 'first', entries);
  const console = await runningConsole({
    setting: { ...fakeSetting({ calls: [], auditEntries: [] }), openFeedback: () => temporary.open() },
    proxy: { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' },
    roles: roles({ operators: { groups: ['leads'] }, contacts: { groups: ['support'] } }),
  });
  const look = (path: string, groups = 'support') =>
    ask(console, path, { headers: { 'x-user': `of-${groups}`, 'x-groups': groups } });
  return { look, store: temporary.store };
}

describe('feedback on a real store', () => {
  it('is found by its words and filters, and read on by cursor', async () => {
    const { look } = await overStore(
      Array.from({ length: 60 }, (_, index) =>
        entry(`fb_${index}`, {
          comment: `The install step fails, 日本語 ${index}`,
          source: 'contextual',
          helpful: index % 2 === 0,
          createdAt: new Date(Date.UTC(2026, 10, 20, 9, index)).toISOString(),
        }),
      ),
    );
    const { text } = await look(`/feedback?words=INSTALL+${encodeURIComponent('日本')}`);
    expect(text).toContain('60 entries, newest first.');
    expect(text).toContain('<mark>install</mark>');
    const [, older = ''] = /href="([^"]+)">Older/.exec(text) ?? [];
    const next = await look(older.replaceAll('&amp;', '&'));
    expect(next.text.match(/class="page-of"/g)).toHaveLength(10);
    expect((await look('/feedback?helpful=yes&from=2026-11-20T09:30Z')).text).toContain('15 entries');
    expect((await look('/feedback?since=2026-11-22')).text).toContain('No results.');
    expect((await look('/feedback.jsonl?words=fails&helpful=no')).text.trimEnd().split('\n')).toHaveLength(30);
  });

  it('is counted by page, and an entry shows its history', async () => {
    const pending = entry('fb_1', { comment: 'slow page', path: '/a?x', helpful: false });
    const { look, store } = await overStore([pending, entry('fb_2', { path: '/a/' }), entry('fb_3', { path: '/b' })]);
    await wholePass(store, 'second', [{ ...pending, status: 'resolved' }]);
    const documents = await look('/feedback?by=document');
    expect(documents.text).toContain('3 entries by page.');
    expect((await look('/feedback')).text).toContain('1 entry, newest first.');
    expect((await look('/feedback?all=yes')).text).toContain('3 entries, newest first.');
    const meant = (await look('/feedback?all=yes&document=B')).text;
    expect(meant).toContain('No results. Nothing is stored of the page B.');
    expect(meant).toMatch(/Pages of a like name"[\s\S]*?<a href="[^"]*document=%2Fb"><bdi>\/b<\/bdi><\/a><\/li><\/ul>/);
    expect((await look('/feedback?all=yes&document=page-3')).text).not.toContain('Pages of a like name');
    const lines = async (path: string) => (await look(path)).text.trimEnd().split('\n').length;
    expect([await lines('/feedback.jsonl'), await lines('/feedback.jsonl?all=yes')]).toEqual([1, 3]);
    expect(documents.text).toContain('href="/feedback.jsonl?all=yes"');
    expect(documents.text.indexOf('document=%2Fa"')).toBeLessThan(documents.text.indexOf('document=%2Fb"'));
    const { status, text } = await look('/feedback/prj_1/fb_1');
    expect([status, text.includes('<bdi>pending</bdi> → <bdi>resolved</bdi>')]).toEqual([200, true]);
    expect((await look('/feedback?status=open')).text).not.toContain('slow page');
  });

  it('shows twelve weeks of a page, whatever else is asked of it, and nothing where nobody said anything', async () => {
    const now = new Date().toISOString();
    const { look } = await overStore([
      entry('fb_1', { path: '/a', helpful: false, comment: 'words', createdAt: now }),
      entry('fb_2', { path: '/a', helpful: true, createdAt: now }),
      entry('fb_3', { path: '/old', helpful: true, createdAt: '2020-01-01T00:00:00Z' }),
    ]);
    for (const more of ['', '&helpful=yes', '&words=nothing', '&project=prj_1']) {
      const { text } = await look(`/feedback?document=/a${more}`);
      expect(text).toContain('The last 12 weeks of this page');
      expect(text).toContain('aria-label="Bars by week: 1 helpful, 1 not helpful, 1 comment"');
      expect(text).toMatch(/\(so far\)<\/bdi><\/th><td>1<\/td><td>1<\/td><td>1<\/td>/);
    }
    for (const path of ['/feedback', '/feedback?document=/old', '/feedback?document=/none']) {
      expect((await look(path)).text).not.toContain('weeks of this page');
    }
  });

  it('shows an encoded path as people write it, and leads to its address', async () => {
    const { look } = await overStore([
      entry('fb_1', { path: 'https://docs.acme.example/reference/%E2%9C%93' }),
      entry('fb_2', { path: 'https://docs.acme.example/%E2%80%AEgpj' }),
    ]);
    const { text } = await look('/feedback/prj_1/fb_1');
    expect(text).toMatch(/<a href="https:[^"]*%E2%9C%93"[^>]*><bdi>https:\/\/docs\.acme\.example\/reference\/✓<\/bdi>/);
    expect((await look('/feedback/prj_1/fb_2')).text).not.toContain('\u202e');
  });

  it('keeps contacts and unnamed fields from those who may not see them, everywhere', async () => {
    const { look } = await overStore([entry('fb_1', { comment: 'words', contact, extra: { mail: contact } })]);
    for (const path of [
      '/feedback',
      '/feedback?words=words',
      '/feedback/prj_1/fb_1',
      '/feedback.csv',
      '/feedback.jsonl',
    ]) {
      for (const [groups, sees] of [
        ['support', true],
        ['leads', false],
        ['', false],
      ] as const) {
        const { status, text } = await look(path, groups);
        expect([path, groups, status, text.includes(contact)]).toEqual([path, groups, 200, sees]);
      }
    }
    for (const words of [contact, 'ada', 'reader', 'ada*']) {
      const { text } = await look(`/feedback?words=${encodeURIComponent(words)}`);
      expect([words, text.includes('No results.')]).toEqual([words, true]);
    }
  });

  it('answers whatever is asked with a page, and never with an error of the database', async () => {
    const { look } = await overStore([entry('fb_1', { comment: 'words' })]);
    const asked = [
      '"',
      '"""',
      '*',
      '""*',
      "' OR 1=1 --",
      'NEAR(a b)',
      'comment:words',
      'a AND OR NOT',
      '{x}:^y',
      '\u0000',
      '%',
      '😀',
      'a\u0301',
      ')(',
      `${'w'.repeat(999)}*`,
    ];
    for (const words of asked) {
      for (const by of ['', 'document']) {
        const { status, text } = await look(`/feedback?by=${by}&words=${encodeURIComponent(words)}`);
        expect([200, 400]).toContain(status);
        expect(text).toContain('<h1>');
      }
    }
    for (const after of ['x', '-1', '9'.repeat(16), '9'.repeat(300), "1' OR 1=1", '1e9', '%00']) {
      const { status, text } = await look(`/feedback?after=${encodeURIComponent(after)}`);
      expect([200, 400]).toContain(status);
      expect(text).toContain('<h1>');
    }
  });

  it('shows every hostile entry, and its own page where an address can hold its id', async () => {
    const { look } = await overStore([...hostileEntries]);
    const { status, text } = await look('/feedback?all=yes');
    expect([status, text.match(/class="page-of"/g)?.length]).toEqual([200, hostileEntries.length]);
    const pages = [...text.matchAll(/href="(\/feedback\/prj_1\/[^"]+)"/g)].map(([, address = '']) =>
      address.replaceAll('&#39;', "'"),
    );
    // All but `..` and those of megabytes.
    expect(pages).toHaveLength(hostileEntries.length - 3);
    for (const page of pages) expect([page, (await look(page)).status]).toEqual([page, 200]);
  });
});
