import { createHash } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ArchiveFormat, writeArchive } from '../../../sandbox/export/archive.ts';
import { type Manifest, NoSuchVersion, VersionDamaged } from '../../../src/exports/store/bundle-store.ts';
import {
  type ComparedStore,
  compareVersions,
  type DiffLimits,
  lineDiff,
  pageText,
} from '../../../src/exports/verify/compare-pages.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

type Site = Record<string, string>;

const domain = 'docs.acme.example';
const page = (text: string) => `<!doctype html><title>T</title><p>${text}</p>`;

/** A store of real archives, which counts how often one is opened. */
async function storeOf(versions: Record<string, Site>, format: ArchiveFormat = 'tar.gz') {
  const folder = await tempFolder();
  const manifests = new Map<string, Manifest>();
  const opened: string[] = [];
  for (const [version, site] of Object.entries(versions)) {
    const files = Object.entries(site).map(([path, text]) => {
      const content = Buffer.from(text);
      return { path, size: content.length, compressible: true, chunks: () => [content] };
    });
    const target = join(folder, version);
    const { signal } = new AbortController();
    await writeArchive({ files, format, target, mtime: new Date(0), compress: true, signal });
    manifests.set(version, {
      version,
      contentDigest: version,
      archive: { sha256: '', bytes: 1, format },
      pages: files.length,
      files: files.map(({ path, size, chunks }) => {
        const hash = createHash('sha256');
        for (const chunk of chunks()) hash.update(chunk);
        return { path, bytes: size, sha256: hash.digest('hex') };
      }),
      source: { org: 'acme', domain, jobId: 'job' },
    });
  }
  const store: ComparedStore = {
    async manifest(_domain, version) {
      const manifest = manifests.get(version);
      if (manifest === undefined) throw new NoSuchVersion('gone');
      return manifest;
    },
    withArchive(_domain, version, read) {
      opened.push(version);
      return read(join(folder, version));
    },
  };
  return { store, manifests, opened, file: (version: string) => join(folder, version) };
}

describe('compareVersions', () => {
  const before = { 'index.html': page('one'), 'gone.html': page('gone'), 'same.html': page('same'), 'a.js': '1' };
  const after = {
    'index.html': page('two'),
    'new.html': page('new'),
    'same.html': page('same').replace('<p>', '<p class="x">'),
    'a.js': '2',
  };

  it.each(['tar.gz', 'tar', 'zip'] as const)('names pages, counts files and compares texts: %s', async (format) => {
    const { store } = await storeOf({ v1: before, v2: after }, format);
    const changes = await compareVersions(store, domain, { from: 'v1', to: 'v2' }, {});
    expect(changes).toMatchObject({
      from: { version: 'v1' },
      to: { version: 'v2' },
      counts: {
        files: { added: 1, removed: 1, changed: 3, moved: 0, unchanged: 0 },
        pages: { added: 1, removed: 1, changed: 2, moved: 0, unchanged: 0 },
      },
      pages: { added: ['new.html'], removed: ['gone.html'], changed: ['index.html', 'same.html'], moved: [] },
      without: null,
    });
    expect(changes.texts).toEqual([
      {
        path: 'index.html',
        parts: [
          { kind: 'same', text: 'T' },
          { kind: 'removed', text: 'one' },
          { kind: 'added', text: 'two' },
        ],
      },
      { path: 'same.html', parts: [] },
    ]);
  });

  it('has nothing to compare a first version with', async () => {
    const { store, opened } = await storeOf({ v1: before });
    const changes = await compareVersions(store, domain, { from: null, to: 'v1' }, {});
    expect(changes).toMatchObject({ from: null, counts: { pages: { added: 3 } }, texts: [] });
    expect(opened).toEqual([]);
  });

  it('compares the text of twenty pages, none of which is long, and cuts long lines', async () => {
    const many = (text: string) =>
      Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`p${String(n).padStart(2, '0')}.html`, page(text)]));
    const long = (text: string) => ({ 'a-long.html': `${text}${' '.repeat(300_000)}` });
    const { store } = await storeOf({
      v1: { ...many('a'), ...long('a') },
      v2: { ...many('b'.repeat(1_000)), ...long('b') },
    });
    const { texts, pages } = await compareVersions(store, domain, { from: 'v1', to: 'v2' }, {});
    expect(pages.changed).toHaveLength(31);
    expect(texts.map(({ path }) => path)).toEqual(pages.changed.slice(1, 21));
    expect(texts[0]?.parts.at(-1)).toEqual({ kind: 'added', text: `${'b'.repeat(400)}…` });
  });

  it('leaves out a page whose elements stand too deep within each other', async () => {
    const deep = (text: string) => ({ 'a-deep.html': `${'<div>'.repeat(1_000)}${text}` });
    const { store } = await storeOf({ v1: { ...before, ...deep('a') }, v2: { ...after, ...deep('b') } });
    const { texts, pages } = await compareVersions(store, domain, { from: 'v1', to: 'v2' }, {});
    expect(pages.changed).toContain('a-deep.html');
    expect(texts.map(({ path }) => path)).toEqual(['index.html', 'same.html']);
  });

  it('lets others run between two pages, and stops there when its time is over', async () => {
    const { store } = await storeOf({ v1: before, v2: after });
    const over = new AbortController();
    const ending: ComparedStore = {
      ...store,
      async withArchive(domainOf, version, read, work) {
        const result = await store.withArchive(domainOf, version, read, work);
        if (version === 'v2') setImmediate(() => over.abort(new Error('over')));
        return result;
      },
    };
    const comparing = compareVersions(ending, domain, { from: 'v1', to: 'v2' }, { signal: over.signal });
    await expect(comparing).rejects.toThrow('over');
  });

  it('opens no archive that is large, and says so', async () => {
    const { store, manifests, opened } = await storeOf({ v1: before, v2: after });
    const large = manifests.get('v1');
    if (large) large.archive.bytes = 2 ** 30;
    const { texts, without } = await compareVersions(store, domain, { from: 'v1', to: 'v2' }, {});
    expect([texts, opened]).toEqual([[], []]);
    expect(without).toContain('too large');
  });

  it('refuses an archive that is not as its manifest says', async () => {
    const { store, file } = await storeOf({ v1: before, v2: after }, 'tar');
    const other = await storeOf({ v2: { ...after, 'index.html': page('six') } }, 'tar');
    await copyFile(other.file('v2'), file('v2'));
    const comparing = compareVersions(store, domain, { from: 'v1', to: 'v2' }, {});
    await expect(comparing).rejects.toThrow(VersionDamaged);
  });

  it('reads no more of a file than its manifest says', async () => {
    const { store, file } = await storeOf({ v1: before, v2: after });
    const bomb = { ...after, 'index.html': page(' '.repeat(100 * 1024 ** 2)) };
    await copyFile((await storeOf({ v2: bomb })).file('v2'), file('v2'));
    const rest = process.memoryUsage().arrayBuffers;
    let most = rest;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    }, 1);
    await expect(compareVersions(store, domain, { from: 'v1', to: 'v2' }, {})).rejects.toThrow(VersionDamaged);
    clearInterval(watch);
    expect(most - rest).toBeLessThan(50 * 1024 ** 2);
  });

  it('stops when its time is over, and fails when a version is gone', async () => {
    const { store } = await storeOf({ v1: before, v2: after });
    const over = AbortSignal.abort(new Error('over'));
    await expect(compareVersions(store, domain, { from: 'v1', to: 'v2' }, { signal: over })).rejects.toThrow('over');
    await expect(compareVersions(store, domain, { from: 'v1', to: 'v3' }, {})).rejects.toThrow(NoSuchVersion);
  });
});

/** One letter a line: ` a` for both, `-a` and `+a` for one of them, `…3` for those that are skipped. */
function diff(before: string, after: string, limits: Partial<DiffLimits> = {}): string {
  return lineDiff([...before], [...after], { around: 1, most: 100, ...limits })
    .map((part) => ('text' in part ? `${signs[part.kind]}${part.text}` : 'lines' in part ? `…${part.lines}` : '?'))
    .join(' ');
}

const signs = { same: '=', removed: '-', added: '+' };

describe('lineDiff', () => {
  it.each([
    ['abcdefg', 'abcXefg', '…2 =c -d +X =e …2'],
    ['abc', 'abcd', '…2 =c +d'],
    ['abc', 'bc', '-a =b …1'],
    ['', 'ab', '+a +b'],
    ['ab', '', '-a -b'],
    ['abcd', 'bdca', '-a =b -c =d +c +a'],
    ['abcdefghij', 'aXcdefghYj', '=a -b +X =c …4 =h -i +Y =j'],
  ])('%s → %s', (before, after, shown) => {
    expect(diff(before, after)).toBe(shown);
  });

  it('finds nothing between equal texts', () => {
    expect(diff('abc', 'abc')).toBe('');
    expect(diff('', '')).toBe('');
  });

  it('lists no more lines than asked for, and counts the others', () => {
    expect(diff('abc', 'xyz', { most: 4 })).toBe('-a -b -c +x …2');
  });

  it('gives every line of both texts back, however they differ', () => {
    const random = (seed: number) => [...'abcd'.repeat(10)].filter((_, index) => (index * seed) % 7 < 4);
    for (let seed = 1; seed < 40; seed += 1) {
      const [before, after] = [random(seed), random(seed + 3)];
      const parts = lineDiff(before, after, { around: 100, most: 1_000 });
      if (parts.length === 0) {
        expect(after).toEqual(before);
        continue;
      }
      const side = (kind: string) => parts.flatMap((part) => ('text' in part && part.kind !== kind ? [part.text] : []));
      expect(side('added')).toEqual(before);
      expect(side('removed')).toEqual(after);
    }
  });

  it('matches long texts that differ in a few lines', () => {
    const before = Array.from({ length: 5_000 }, (_, number) => `line ${number}`);
    const after = before.toSpliced(4_000, 1, 'new').toSpliced(100, 1);
    const shown = lineDiff(before, after, { around: 0, most: 10 }).filter(({ kind }) => kind !== 'skipped');
    expect(shown).toEqual([
      { kind: 'removed', text: 'line 100' },
      { kind: 'removed', text: 'line 4000' },
      { kind: 'added', text: 'new' },
    ]);
  });

  it('takes texts that differ too much to be matched as all removed and all added', () => {
    const lines = (name: string) => Array.from({ length: 1_500 }, (_, number) => `${name} ${number}`);
    const parts = lineDiff(lines('a'), lines('b'), { around: 1, most: 2 });
    expect(parts).toEqual([
      { kind: 'unmatched' },
      { kind: 'removed', text: 'a 0' },
      { kind: 'removed', text: 'a 1' },
      { kind: 'skipped', lines: 2_998 },
    ]);
  });
});

describe('pageText', () => {
  it.each([
    ['<h1>Title</h1><p>One\n  <b>bold</b> line &amp; more</p>', ['Title', 'One bold line & more']],
    ['<ul><li>a<li>b</ul>', ['a', 'b']],
    ['<p>a<br>b</p>', ['a', 'b']],
    ['<script>no()</script><style>no{}</style><p>yes</p>', ['yes']],
    ['<pre>if (a) {\n  b();\n}\n</pre><p>end', ['if (a) {', '  b();', '}', 'end']],
    ['<p>see <img src=x alt="a picture"> here</p>', ['see [a picture] here']],
    ['<svg><title>no</title></svg><title>yes</title>', ['yes']],
    ['', []],
  ])('%s', (html, lines) => {
    expect(pageText(html)).toEqual(lines);
  });

  it('keeps what looks like markup as text, for the page that shows it to escape', () => {
    expect(pageText('<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>')).toEqual(['<script>alert(1)</script>']);
  });

  it('reads markup that nobody closed, five hundred levels deep, and nothing that is deeper', () => {
    expect(pageText(`${'<div>'.repeat(500)}deep`)).toEqual(['deep']);
    expect(pageText(`${'<div>'.repeat(501)}deep`)).toBeNull();
    expect(pageText(`${'<p>line<br>'.repeat(1_000)}${'<b>x</b>'.repeat(1_000)}`)).toHaveLength(1_001);
  });
});
