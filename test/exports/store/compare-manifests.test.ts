import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentDigest } from '../../../src/exports/archive/content-digest.ts';
import type { Manifest } from '../../../src/exports/store/bundle-store.ts';
import { compareManifests, type ManifestDiff } from '../../../src/exports/store/compare-manifests.ts';
import { isPage } from '../../../src/exports/verify/site-links.ts';

type Site = Record<string, string>;

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

function manifestOf(site: Site, version = 'v'): Manifest {
  const files = Object.entries(site).map(([path, text]) => ({ path, bytes: text.length, sha256: digest(text) }));
  return {
    version,
    contentDigest: contentDigest(files),
    archive: { sha256: digest(version), bytes: 1, format: 'zip' },
    pages: files.filter(({ path }) => isPage(path)).length,
    files,
    source: { org: 'acme', domain: 'docs.acme.example', jobId: 'job_1' },
  };
}

const compare = (a: Site, b: Site): ManifestDiff => compareManifests(manifestOf(a, 'a'), manifestOf(b, 'b'));

describe('two versions', () => {
  it('that are equal differ in nothing, whatever the order of their lists', () => {
    const diff = compare({ 'index.html': 'hi', 'a.css': 'x' }, { 'a.css': 'x', 'index.html': 'hi' });
    expect(diff).toMatchObject({ equal: true, added: [], removed: [], changed: [], moved: [] });
    expect(diff.counts).toEqual({
      files: { added: 0, removed: 0, changed: 0, moved: 0, unchanged: 2 },
      pages: { added: 0, removed: 0, changed: 0, moved: 0, unchanged: 1 },
    });
  });

  it('show what was added, removed, changed and moved, pages first', () => {
    const diff = compare(
      { 'index.html': 'one', 'old.html': 'same text', 'gone.html': 'bye', 'app.js': 'js', 'kept.png': 'png' },
      { 'index.html': 'three', 'a.css': 'css', 'guide/new.html': 'same text', 'z.html': 'new', 'kept.png': 'png' },
    );
    expect(diff.from).toEqual({ version: 'a', contentDigest: expect.any(String), files: 5, pages: 3, bytes: 20 });
    expect(diff.to).toMatchObject({ version: 'b', files: 5, pages: 3, bytes: 23 });
    expect(diff.equal).toBe(false);
    expect(diff.added.map(({ path }) => path)).toEqual(['z.html', 'a.css']);
    expect(diff.removed.map(({ path }) => path)).toEqual(['gone.html', 'app.js']);
    expect(diff.changed).toEqual([
      {
        path: 'index.html',
        before: { bytes: 3, sha256: digest('one') },
        after: { bytes: 5, sha256: digest('three') },
      },
    ]);
    expect(diff.moved).toEqual([{ from: 'old.html', to: 'guide/new.html', bytes: 9, sha256: digest('same text') }]);
    expect(diff.counts).toEqual({
      files: { added: 2, removed: 2, changed: 1, moved: 1, unchanged: 1 },
      pages: { added: 1, removed: 1, changed: 1, moved: 1, unchanged: 0 },
    });
  });

  it('pair files of the same content by name before anything else', () => {
    const diff = compare({ 'a/x.png': 'p', 'a/y.png': 'p' }, { 'b/y.png': 'p', 'b/z.png': 'p' });
    expect(diff.moved.map(({ from, to }) => [from, to])).toEqual([
      ['a/y.png', 'b/y.png'],
      ['a/x.png', 'b/z.png'],
    ]);
  });

  it('call a copy new, and an empty file neither moved nor renamed', () => {
    expect(compare({ 'a.html': 'x' }, { 'a.html': 'x', 'b.html': 'x' })).toMatchObject({
      added: [{ path: 'b.html' }],
      moved: [],
    });
    expect(compare({ 'a.txt': '' }, { 'b.txt': '' })).toMatchObject({
      added: [{ path: 'b.txt' }],
      removed: [{ path: 'a.txt' }],
      moved: [],
    });
  });

  it('treat names of object properties as plain names', () => {
    expect(compare({ 'constructor/index.html': 'x' }, { ['__proto__' as string]: 'y' }).removed).toHaveLength(1);
  });
});

describe('any two versions', () => {
  const name = fc.constantFrom('index.html', 'a.html', 'b/a.html', 'b/c.html', 'x.css', 'y.js', 'b/x.css', 'é.png');
  const site = fc.dictionary(name, fc.constantFrom('', '1', '2', '3'), { maxKeys: 8 });

  it('turn into each other by the listed changes', () => {
    fc.assert(
      fc.property(site, site, (a, b) => {
        const diff = compare(a, b);
        const made = new Map(Object.entries(a).map(([path, text]) => [path, digest(text)]));
        for (const { path } of diff.removed) expect(made.delete(path)).toBe(true);
        for (const { from } of diff.moved) expect(made.delete(from)).toBe(true);
        for (const { to, sha256 } of diff.moved) made.set(to, sha256);
        for (const { path, sha256 } of diff.added) made.set(path, sha256);
        for (const { path, after } of diff.changed) made.set(path, after.sha256);
        expect(made).toEqual(new Map(Object.entries(b).map(([path, text]) => [path, digest(text)])));
        expect(diff.equal).toBe(diff.from.contentDigest === diff.to.contentDigest);
      }),
    );
  });

  it('account for every file once, and for the same files in reverse', () => {
    fc.assert(
      fc.property(site, site, (a, b) => {
        const { counts, from, to } = compare(a, b);
        for (const [kind, before, after] of [
          ['files', from.files, to.files],
          ['pages', from.pages, to.pages],
        ] as const) {
          const { added, removed, changed, moved, unchanged } = counts[kind];
          expect(added + changed + moved + unchanged).toBe(after);
          // A page that becomes another kind of file counts as what it is now.
          if (kind === 'files') expect(removed + changed + moved + unchanged).toBe(before);
        }
        const back = compare(b, a).counts.files;
        expect([back.added, back.removed, back.moved]).toEqual([
          counts.files.removed,
          counts.files.added,
          counts.files.moved,
        ]);
      }),
    );
  });
});
