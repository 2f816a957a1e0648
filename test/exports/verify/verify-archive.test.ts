import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { VerificationOptions } from '../../../src/exports/verify/verify-archive.ts';
import { verifyArchive } from '../../../src/exports/verify/verify-archive.ts';
import { type Item, pax, smallSite, tar, tarGz, zip } from '../../tools/bundle/build-archive.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const someLimits = { maxBytes: 10_000_000, maxFiles: 100, maxRatio: 200 };

async function verify(bytes: Buffer, options: Partial<VerificationOptions> = {}) {
  const file = join(await tempFolder(), 'archive.bin');
  await writeFile(file, bytes);
  return verifyArchive(file, { limits: someLimits, ...options });
}

async function rulesBrokenBy(bytes: Buffer, options: Partial<VerificationOptions> = {}): Promise<string[]> {
  const report = await verify(bytes, options);
  expect(report.ok).toBe(report.reasons.length === 0);
  return report.reasons.map(({ rule }) => rule);
}

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest('hex');
const withSite = (...items: Item[]) => [...smallSite, ...items];

describe.each([
  ['tar.gz', tarGz],
  ['tar', tar],
  ['zip', zip],
] as const)('a sound %s', (format, build) => {
  it('is accepted with its digest, sizes and counts', async () => {
    const bytes = build(smallSite);
    const report = await verify(bytes);
    const digest = ['assets/site.css\0h1{}', 'guide/start.html\0<h1>Start</h1>', 'index.html\0<h1>Home</h1>']
      .map((file) => file.split('\0'))
      .map(([path, content]) => `${path}\0${sha256(content ?? '')}\n`);
    expect(report).toMatchObject({ ok: true, format, reasons: [], warnings: [], files: 3, pages: 2, bytes: 31 });
    expect(report.contentDigest).toBe(sha256(digest.join('')));
    expect(report.archive).toEqual({ sha256: sha256(bytes), bytes: bytes.length, format });
    expect(report.entries[2]).toEqual({ path: 'index.html', bytes: 13, sha256: sha256('<h1>Home</h1>') });
  });

  it('has the same content digest in any order, packed as "." or not, folders listed or not', async () => {
    const { contentDigest } = await verify(build(smallSite));
    const folder = { type: '5', mode: 0o040755 };
    const dotted = [...smallSite].reverse().map((item) => ({ ...item, name: `./${item.name}` }));
    const other = await verify(build([{ name: './', ...folder }, { name: './guide/', ...folder }, ...dotted]));
    expect(other).toMatchObject({ ok: true, contentDigest, files: 3 });
  });

  it('sorts paths by their UTF-8 bytes, not by UTF-16 units', async () => {
    const report = await verify(build(withSite({ name: '\u{1f600}.html' }, { name: '\uff5e.html' })));
    expect(report.entries.map(({ path }) => path).slice(-2)).toEqual(['\uff5e.html', '\u{1f600}.html']);
  });

  it.each([
    ['path-traversal', '../evil.html'],
    ['path-traversal', 'a/../../evil.html'],
    ['absolute-path', '/etc/passwd'],
    ['backslash', 'a\\..\\evil.html'],
    ['drive-letter', 'C:/evil.html'],
    ['drive-letter', './C:evil.html'],
    ['control-character', 'a\u0001.html'],
    ['control-character', 'a\u007f.html'],
    ['empty-segment', 'a//b.html'],
    ['dot-segment', 'a/./b.html'],
    ['not-utf8', Buffer.from([0x61, 0xff, 0x2e])],
    ['not-utf8', Buffer.from([0xed, 0xa0, 0x80, 0x2e])],
    ['duplicate-name', 'index.html'],
    ['duplicate-name', './index.html'],
    ['name-collision', 'INDEX.html'],
    ['name-collision', 'Guide/other.html'],
    ['file-as-folder', 'index.html/x.html'],
    ['file-as-folder', 'guide'],
  ])('is refused with %s for the name %j', async (rule, name) => {
    expect(await rulesBrokenBy(build(withSite({ name, content: 'x' })))).toEqual([rule]);
  });

  it('is refused when names differ only by Unicode form', async () => {
    const items = withSite({ name: '\ufb01.html' }, { name: 'fi.html' });
    expect(await rulesBrokenBy(build(items))).toEqual(['name-collision']);
    expect(await rulesBrokenBy(build(withSite({ name: 'stra\u00dfe' }, { name: 'STRASSE' })))).toEqual([
      'name-collision',
    ]);
  });

  it('is refused without an index page at the root, and told what to do when all lies below one folder', async () => {
    const report = await verify(build(smallSite.map((item) => ({ ...item, name: `site/${item.name}` }))));
    expect(report.reasons).toMatchObject([{ rule: 'no-index-page', path: null }]);
    expect(report.reasons[0]?.detail).toContain('below the folder "site"');
    expect(report.contentDigest).not.toBeNull();
  });

  it('is refused without any page, unless only the structure is asked for', async () => {
    const bytes = build([{ name: 'data.json', content: '{}' }]);
    expect(await rulesBrokenBy(bytes)).toEqual(['no-page', 'no-index-page']);
    expect(await rulesBrokenBy(bytes, { structureOnly: true })).toEqual([]);
  });

  it('is refused when it holds nothing', async () => {
    // A tar of nothing is only zeros: nothing marks it as a tar.
    const rule = format === 'tar' ? 'unknown-format' : 'no-files';
    expect(await rulesBrokenBy(build([]), { structureOnly: true })).toEqual([rule]);
  });

  it('is refused over the limits, the moment they are passed', async () => {
    const zeros = Buffer.alloc(3_000_000);
    expect(await rulesBrokenBy(build(smallSite), { limits: { ...someLimits, maxFiles: 2 } })).toEqual([
      'too-many-files',
    ]);
    expect(await rulesBrokenBy(build(smallSite), { limits: { ...someLimits, maxBytes: 20 } })).toEqual([
      'too-many-bytes',
    ]);
    if (format === 'tar') return;
    expect(await rulesBrokenBy(build(withSite({ name: 'z', content: zeros })))).toEqual(['ratio']);
  });

  it('counts folders that are only implied by paths', async () => {
    const deep = Array.from({ length: 40 }, (_, n) => ({ name: `${n}/b/c/d/x.html` }));
    expect(await rulesBrokenBy(build(withSite(...deep)))).toEqual(['too-many-files']);
  });

  it('is refused, not thrown, wherever it is cut', async () => {
    const bytes = build(withSite({ name: 'big', content: Buffer.from(Array.from({ length: 3000 }, (_, n) => n * 7)) }));
    for (const part of [0.1, 0.3, 0.5, 0.7, 0.9, 1]) {
      const cut = Math.floor(bytes.length * part) - 1;
      const rules = await rulesBrokenBy(bytes.subarray(0, cut));
      if (rules.length === 0) throw new Error(`accepted when cut at ${cut}`);
    }
  });

  it('never throws for flipped bytes', async () => {
    const bytes = build(smallSite);
    for (let index = 0; index < bytes.length; index += 37) {
      const flipped = Buffer.from(bytes);
      flipped[index] = (flipped[index] ?? 0) ^ 0x55;
      const report = await verify(flipped);
      expect(report.ok).toBe(report.reasons.length === 0);
    }
  });

  it('reports a time limit, and throws only when aborted', async () => {
    expect(await rulesBrokenBy(build(smallSite), { timeLimitMs: 0 })).toEqual(['time-limit']);
    const reason = new Error('stop');
    await expect(verify(build(smallSite), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('a tar', () => {
  it.each([
    ['symbolic-link', '2'],
    ['hard-link', '1'],
    ['device', '3'],
    ['device', '4'],
    ['device', '6'],
    ['entry-type', '7'],
    ['entry-type', 'S'],
  ])('is refused with %s for an entry of type %s', async (rule, type) => {
    expect(await rulesBrokenBy(tarGz(withSite({ name: 'x.html', type })))).toEqual([rule]);
  });

  it('is checked by the names of its pax headers', async () => {
    expect(await rulesBrokenBy(tarGz(withSite(pax({ path: '../../evil' }), { name: 'ok.html' })))).toEqual([
      'path-traversal',
    ]);
    expect(await rulesBrokenBy(tarGz(withSite(pax({ path: 'a\0b' }), { name: 'ok.html' })))).toEqual([
      'control-character',
    ]);
    const long = `${'d'.repeat(250)}/`.repeat(4);
    expect(await rulesBrokenBy(tarGz(withSite(pax({ path: `${long}${'f'.repeat(30)}` }), { name: 'x' })))).toEqual([
      'path-too-long',
    ]);
    expect(await rulesBrokenBy(tarGz(withSite(pax({ path: 'f'.repeat(256) }), { name: 'x' })))).toEqual([
      'segment-too-long',
    ]);
  });

  it('is refused when a folder carries data, which some readers take for entries', async () => {
    const hidden = tar([{ name: 'evil.html', content: 'x' }]).subarray(0, 1024);
    expect(await rulesBrokenBy(tarGz(withSite({ name: 'd/', type: '5', content: hidden })))).toContain(
      'data-on-directory',
    );
  });

  it('is truncated without its end marker', async () => {
    expect(await rulesBrokenBy(gzipSync(tar(smallSite).subarray(0, -1024)))).toEqual(['truncated']);
    expect(await rulesBrokenBy(tar(smallSite).subarray(0, -1024))).toEqual(['truncated']);
  });

  it('is truncated when cut inside a file of zeros, which look like the end marker', async () => {
    const bytes = tar(withSite({ name: 'zeros', content: Buffer.alloc(50_000) }));
    expect(await rulesBrokenBy(bytes.subarray(0, -20_480))).toEqual(['truncated']);
    expect(await rulesBrokenBy(gzipSync(bytes.subarray(0, -20_480)))).toEqual(['truncated']);
  });

  it('is refused with a wrong gzip checksum', async () => {
    const bytes = tarGz(smallSite);
    bytes.writeUInt32LE(1, bytes.length - 8);
    expect(await rulesBrokenBy(bytes)).toEqual(['corrupt']);
  });

  it('is refused with anything after the gzip data', async () => {
    for (const tail of [Buffer.from('garbage'), Buffer.alloc(16), Buffer.alloc(700_000)]) {
      expect(await rulesBrokenBy(Buffer.concat([tarGz(smallSite), tail]))).toEqual(['trailing-data']);
    }
  });

  it('is refused when it unpacks to endless padding', async () => {
    const padding = gzipSync(Buffer.concat([tar(smallSite), Buffer.alloc(2_000_000)]));
    const limits = { maxBytes: 100_000, maxFiles: 10, maxRatio: 10_000 };
    expect(await rulesBrokenBy(padding, { limits })).toEqual(['too-many-bytes']);
  });

  it('is corrupt when the gzip data is no tar', async () => {
    expect(await rulesBrokenBy(gzipSync('<html>'.repeat(500)))).toEqual(['corrupt']);
  });
});

describe('a zip', () => {
  it('is refused for symbolic links and devices in its Unix modes', async () => {
    const link = { name: 'l', content: '/etc/passwd', mode: 0o120777 };
    expect(await rulesBrokenBy(zip(withSite(link, { name: 'd', mode: 0o020644 })))).toEqual([
      'symbolic-link',
      'device',
    ]);
  });

  it('is refused when CRC, size, encryption or names do not hold', async () => {
    const item = { name: 'x.html', content: 'xx' };
    expect(await rulesBrokenBy(zip(withSite({ ...item, crc: 1 })))).toEqual(['crc-mismatch']);
    expect(await rulesBrokenBy(zip(withSite({ ...item, claimedBytes: 1 })))).toEqual(['size-mismatch']);
    expect(await rulesBrokenBy(zip(withSite({ ...item, claimedBytes: 3 })))).toEqual(['size-mismatch']);
    expect(await rulesBrokenBy(zip(withSite({ ...item, flags: 0x801 })))).toEqual(['encrypted']);
    expect(await rulesBrokenBy(zip(withSite({ name: 'caf\u00e9.html', flags: 0 })))).toEqual(['ambiguous-name']);
  });

  it('is refused by its own claims before anything is unpacked', async () => {
    const bomb = { name: 'z', content: 'x', claimedBytes: 4_000_000_000 };
    expect(await rulesBrokenBy(zip(withSite(bomb)))).toEqual(['too-many-bytes']);
  });

  it('is refused with bytes after its end', async () => {
    expect(await rulesBrokenBy(Buffer.concat([zip(smallSite), Buffer.from('x')]))).toEqual(['trailing-data']);
  });
});

describe('something else', () => {
  it.each([
    ['empty-file', ''],
    ['html-page', '\n<!DOCTYPE html><title>502 Bad Gateway</title>'],
    ['xml-document', '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    ['json-document', '{"error":"gone"}'],
    ['unsupported-compression', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0])],
    ['unknown-format', 'hello'],
  ])('is refused as %s', async (rule, content) => {
    const report = await verify(Buffer.from(content));
    expect(report).toMatchObject({ ok: false, format: null, archive: null, reasons: [{ rule }] });
  });

  it('names the first 20 reasons, printable and short, and counts the rest', async () => {
    const bad = Array.from({ length: 30 }, (_, n) => ({ name: `\u202e\u0007${n}` }));
    const { reasons } = await verify(tarGz(bad));
    expect(reasons).toHaveLength(21);
    expect(reasons[0]?.path).toBe('\\u{202e}\\u{7}0');
    expect(reasons[20]).toEqual({ rule: 'more-reasons', path: null, detail: '10 more not listed' });
  });

  it('throws for a file that is not there', async () => {
    await expect(verifyArchive('/nowhere/at/all', { limits: someLimits })).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
