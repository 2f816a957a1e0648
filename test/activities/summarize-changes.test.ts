import { describe, expect, it } from 'vitest';
import { summarizeChanges } from '../../src/activities/version-steps.ts';
import type { Manifest } from '../../src/exports/store/bundle-store.ts';

const file = (path: string, content = 'a') => ({ path, bytes: 1, sha256: content.repeat(64) });

const manifest = (version: string, files: Manifest['files']): Manifest => ({
  version,
  contentDigest: version,
  archive: { sha256: version, bytes: 1, format: 'tar' },
  pages: files.length,
  files,
  source: { org: 'acme', domain: 'docs.acme.example', jobId: 'job' },
});

describe('summarizeChanges', () => {
  it('counts pages and other files apart, and names the pages', () => {
    const before = manifest('v1', [
      file('index.html'),
      file('old.html', '1'),
      file('guide.htm', 'b'),
      file('here.html', '2'),
      file('app.js'),
      file('gone.css', '3'),
    ]);
    const after = manifest('v2', [
      file('index.html'),
      file('new.html', '4'),
      file('guide.htm', 'c'),
      file('there.html', '2'),
      file('app.js', 'd'),
      file('x.png', '5'),
    ]);
    expect(summarizeChanges(before, after)).toEqual({
      against: 'v1',
      pages: { added: 1, removed: 1, changed: 1, moved: 1 },
      others: { added: 1, removed: 1, changed: 1, moved: 0 },
      listed: { added: ['new.html'], removed: ['old.html'], changed: ['guide.htm'], moved: ['there.html'] },
    });
  });

  it('finds nothing between equal lists, and everything new in a first version', () => {
    const files = [file('index.html'), file('a.js')];
    const none = { added: 0, removed: 0, changed: 0, moved: 0 };
    const second = manifest('v2', files);
    expect(summarizeChanges(manifest('v1', files), second)).toMatchObject({ pages: none, others: none });
    expect(summarizeChanges(null, second)).toMatchObject({ against: null, pages: { added: 1 }, others: { added: 1 } });
  });

  it('stays small enough for a history: twenty paths of a kind, or none when they are too long together', () => {
    const many = Array.from({ length: 1_000 }, (_, n) => file(`page-${n}.html`));
    const changes = summarizeChanges(null, manifest('v1', many));
    expect(changes.pages.added).toBe(1_000);
    expect(changes.listed.added).toHaveLength(20);
    const long = Array.from({ length: 20 }, (_, n) => file(`${'ü'.repeat(100)}-${n}.html`));
    const cut = summarizeChanges(null, manifest('v1', long));
    expect(cut).toMatchObject({ pages: { added: 20 }, listed: { added: [] } });
    for (const result of [changes, cut]) expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(4_096);
  });
});
