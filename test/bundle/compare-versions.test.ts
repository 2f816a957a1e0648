import { describe, expect, it } from 'vitest';
import { compareVersions } from '../../src/bundle/compare-versions.ts';

const file = (path: string, content = 'a') => ({ path, bytes: 1, sha256: content.repeat(64) });

describe('compareVersions', () => {
  it('counts pages and other files apart, and names the pages', () => {
    const before = {
      version: 'v1',
      files: [file('index.html'), file('old.html'), file('guide.htm', 'b'), file('app.js'), file('gone.css')],
    };
    const after = [file('index.html'), file('new.html'), file('guide.htm', 'c'), file('app.js', 'd'), file('x.png')];
    expect(compareVersions(before, after)).toEqual({
      against: 'v1',
      pages: { added: 1, removed: 1, changed: 1 },
      others: { added: 1, removed: 1, changed: 1 },
      listed: { added: ['new.html'], removed: ['old.html'], changed: ['guide.htm'] },
    });
  });

  it('finds nothing between equal lists, and everything new in a first version', () => {
    const files = [file('index.html'), file('a.js')];
    const none = { added: 0, removed: 0, changed: 0 };
    expect(compareVersions({ version: 'v1', files }, files)).toMatchObject({ pages: none, others: none });
    expect(compareVersions(null, files)).toMatchObject({ against: null, pages: { added: 1 }, others: { added: 1 } });
  });

  it('stays small enough for a history: twenty paths of a kind, and none that are too long together', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => file(`page-${n}.html`));
    const changes = compareVersions(null, many);
    expect(changes.pages.added).toBe(1_000);
    expect(changes.listed.added).toHaveLength(20);
    const long = Array.from({ length: 20 }, (_, n) => file(`${'ü'.repeat(100)}-${n}.html`));
    const cut = compareVersions(null, long);
    expect(cut).toMatchObject({ pages: { added: 20 }, listed: { added: [] } });
    for (const result of [changes, cut]) expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(4_096);
  });
});
