import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SiteRule, type SiteRuleLevels, siteRuleTexts } from '../../../src/exports/rules/verification-rules.ts';
import { candidatesOf, destinationOf } from '../../../src/exports/verify/site-links.ts';
import { verifyBytes } from '../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from '../../tools/archives/bytes-in-memory.ts';
import { type Item, tar, zip } from '../../tools/bundle/build-archive.ts';

const someLimits = { maxBytes: 100_000_000, maxFiles: 1000, maxRatio: 100_000 };
const home = { name: 'index.html', content: '<h1>Home</h1>' };

/** The last site as archives, which a test verifies by several levels. */
let packed: { items: Item[]; zip: Buffer; tar: Buffer } | null = null;

async function verify(items: Item[], siteRules: SiteRuleLevels = {}) {
  if (packed?.items !== items) packed = { items, zip: zip(items), tar: tar(items) };
  const options = { limits: someLimits, siteRules, domain: 'docs.example' };
  const report = await verifyBytes(bytesInMemory(packed.zip), options);
  expect(await verifyBytes(bytesInMemory(packed.tar), options)).toMatchObject({
    ok: report.ok,
    reasons: report.reasons,
    warnings: report.warnings,
  });
  return report;
}

const page = (content: string, name = 'a/page.html'): Item[] => [home, { name, content }];
const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkq'.repeat(4)}\n-----END PRIVATE KEY-----`;

function serverFile(name: string): [SiteRule, Item[], string, string] {
  return ['server-file', [home, { name }], name, ''];
}

/** For each rule: a site that breaks it, where, and the message. */
const brokenSites: [SiteRule, Item[], string | null, string][] = [
  ['no-page', [{ name: 'index.txt' }], null, 'the archive contains no HTML page'],
  ['no-index-page', [{ name: 'site/index.html' }], null, 'below the folder "site"'],
  ['no-404-page', [home], null, 'no 404.html'],
  ['broken-link', page('<p>\n\n<a href="gone">x</a>'), 'a/page.html', 'line 3: <a href> leads to "/a/gone"'],
  ['broken-link', page('<a href="/INDEX.html">'), 'a/page.html', 'which is there as "index.html"'],
  ['broken-link', page('<base href="/b/"><a href="page.html">'), 'a/page.html', '"/b/page.html"'],
  // One address, or what looks like one, referred to in two ways.
  ['broken-link', page('<img src="/index.html"><a href="r/index.html">'), 'a/page.html', '<a href> leads to "/a/r/ind'],
  ['broken-link', page('<link rel=preconnect href="/b"><a href="/b">'), 'a/page.html', '<a href> leads to "/b"'],
  ['broken-link', page('<a ping="/b" href="/">x</a><a href="/b">'), 'a/page.html', '<a href> leads to "/b"'],
  ['missing-resource', page('<img src="/logo.png">'), 'a/page.html', 'line 1: <img src> leads to "/logo.png"'],
  ['missing-resource', page('a { b: url(x.png) }', 'a/s.css'), 'a/s.css', 'line 1: url() leads to "/a/x.png"'],
  [
    'external-resource',
    page('\n<script src="https://cdn.example/a.js">'),
    'a/page.html',
    'line 2: <script src> leads to cdn.example',
  ],
  ['external-resource', page('@import "//cdn.example/a.css";', 's.css'), 's.css', '@import leads to cdn.example'],
  ['external-resource', page('import("https://cdn.example/a.js")', 's.js'), 's.js', 'import leads to cdn.example'],
  ['external-resource', page('<svg><image href="http://cdn.example/a.png"/></svg>', 'i.svg'), 'i.svg', 'cdn.example'],
  ['external-resource', page('<link rel=preconnect href="https://fonts.example">'), 'a/page.html', 'fonts.example'],
  [
    'external-base',
    page('<base href="https://docs.example/"><a href="x">'),
    'a/page.html',
    'line 1: <base href> leads to docs.example',
  ],
  [
    'external-refresh',
    page('<meta http-equiv=refresh content="0;url=https://docs.example">'),
    'a/page.html',
    'docs.example',
  ],
  ['origin-link', page('\n<a href="https://Docs.example/x">'), 'a/page.html', 'line 2: <a href> leads to docs.example'],
  ['service-worker', page('\n\nnavigator.serviceWorker.register("/sw.js")', 's.js'), 's.js', 'line 3'],
  ['service-worker', page('<script>\nnavigator.serviceWorker.register("sw.js")</script>'), 'a/page.html', 'line 2'],
  ...['.htaccess', 'a/.HTACCESS', '.user.ini', 'a/web.config', 'x.php', 'x.PHP7', 'a.phtml', 'a.phar'].map(serverFile),
  ...['x.cgi', 'x.fcgi', 'x.shtml', 'x.stm', 'a.asp', 'a.aspx', 'a.jsp', 'a.cfm'].map(serverFile),
  ['secret-file', [home, { name: '.git/config' }], '.git/config', 'part of a Git repository'],
  ['secret-file', [home, { name: 'a/.env.production' }], 'a/.env.production', 'environment variables'],
  ['secret-text', page(`{\n"key": "${key}"}`, 'k.json'), 'k.json', 'line 2: looks like a private key'],
  ['secret-text', page(`ghp_${'a1B2'.repeat(9)}`, 'k.txt'), 'k.txt', 'line 1: looks like a token of GitHub'],
  ['source-map', [home, { name: 'a.js.map', content: '{}' }], 'a.js.map', 'a source map'],
  ['source-map', page('var a;\n//# sourceMappingURL=data:application/json;base64,e30=', 's.js'), 's.js', 'line 2'],
  ['not-inspected', [home, { name: 'big.html', content: Buffer.alloc(33 * 1024 ** 2, 'x') }], 'big.html', '32 MiB'],
];

describe('each rule about the content of a site (C1)', () => {
  it.each(brokenSites)(
    '%s is found, and is a warning or a reason as configured',
    async (rule, items, path, detail) => {
      const found = { rule, path, detail: expect.stringContaining(detail) };
      const others = Object.fromEntries(Object.keys(siteRuleTexts).map((name) => [name, 'off']));
      const warned = await verify(items, { ...others, [rule]: 'warn' });
      expect(warned).toMatchObject({ ok: true, reasons: [], warnings: [found] });
      const refused = await verify(items, { ...others, [rule]: 'refuse' });
      expect(refused).toMatchObject({ ok: false, reasons: [found], warnings: [] });
      expect(refused.contentDigest).toBe(warned.contentDigest);
      expect(await verify(items, others)).toMatchObject({ ok: true, reasons: [], warnings: [] });
      const byDefault = await verify(items);
      const { level } = siteRuleTexts[rule];
      const matching = expect.arrayContaining([expect.objectContaining(found)]);
      if (level === 'off') expect(byDefault).toMatchObject({ ok: true, warnings: [] });
      else expect(byDefault).toMatchObject(level === 'refuse' ? { reasons: matching } : { warnings: matching });
    },
    60_000,
  );

  it('is shown by a site', () => {
    // A matter of the archive's form; shown in zip-accepted.test.ts.
    const shown = new Set([...brokenSites.map(([rule]) => rule), 'narrow-reader']);
    expect(shown).toEqual(new Set(Object.keys(siteRuleTexts)));
  });
});

describe('a file that servers only send', () => {
  it.each(['.html', '.htaccess.html', 'php.html', 'x.php.html', 'cgi', 'web.config.json', 'php.ini.txt', 'a.htm'])(
    '%s is accepted',
    async (name) => {
      expect(await verify([home, { name }])).toMatchObject({ ok: true, reasons: [] });
    },
  );
});

describe('a complete site', () => {
  it('breaks no rule, whatever the form of its links', async () => {
    const links = [
      '/',
      '/guide',
      '/guide/',
      '/guide/start',
      'guide/start.html',
      'guide/../guide/start/',
      '#top',
      '?q=1',
    ];
    const head = '<link rel="stylesheet" href="/a/s.css?v=2"><link rel="canonical" href="https://docs.example/">';
    const body = `${links.map((link) => `<a href="${link}">x</a>`).join('')}<a href="https://other.example/">x</a>`;
    const report = await verify([
      { name: 'index.html', content: `${head}${body}<a href="caf%C3%A9.html">x</a><img src="data:image/png,x">` },
      { name: 'guide/index.html', content: '<a href="start">x</a><img src="../a/b%20c.png">' },
      { name: 'guide/start.html', content: '<a href="./">x</a>' },
      { name: 'caf\u00e9.html' },
      { name: 'a/s.css', content: 'a { b: url("b%20c.png"); c: url(#filter) } /* url(no.png) */' },
      { name: 'a/b c.png' },
    ]);
    expect(report).toMatchObject({ ok: true, reasons: [], warnings: [] });
  });

  it('may explain what keys look like', async () => {
    const text = 'AKIAIOSFODNN7EXAMPLE -----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY----- ghp_xxx';
    expect(await verify(page(text, 'a.html'))).toMatchObject({ warnings: [] });
  });
});

describe('what is reported about a site', () => {
  it('never contains the secret, and lists ten findings of a rule', async () => {
    const links = Array.from({ length: 30 }, (_, n) => `<a href="gone-${n}">`).join('\n');
    const report = await verify([...page(`${links}\n${key}`), { name: '.env', content: key }]);
    expect(JSON.stringify(report.warnings)).not.toContain('MIIEvQ');
    const broken = report.warnings.filter(({ rule }) => rule === 'broken-link');
    expect(broken).toHaveLength(11);
    expect(broken[10]).toEqual({ rule: 'broken-link', path: null, detail: '20 more not listed' });
  });

  it('is safe to print', async () => {
    const report = await verify(page('<a href="\u001b[31mgone\u202e">'));
    expect(report.warnings[0]?.detail).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

describe('where an address leads', () => {
  it.each([
    ['start.html', 'guide/', 'guide/start.html'],
    ['./start', 'guide/', 'guide/start'],
    ['../a/b.css?v=1#x', 'guide/', 'a/b.css'],
    ['../../../a', 'guide/', 'a'],
    ['/', 'guide/', ''],
    ['..', 'a/b/', 'a/'],
    ['.', 'a/', 'a/'],
    ['/caf%C3%A9/%20x', '', 'caf\u00e9/ x'],
    ['100%', '', '100%'],
    ['a\\b', '', 'a/b'],
    [' a\n.html ', '', 'a.html'],
  ])('%s on a page in "%s"', (address, folder, path) => {
    expect(destinationOf(address, folder)).toEqual({ kind: 'internal', path });
  });

  it.each([
    ['https://CDN.example/x', 'cdn.example'],
    ['//cdn.example:8080/x', 'cdn.example:8080'],
    ['\\\\cdn.example\\x', 'cdn.example'],
    ['HTTP:user@cdn.example', 'cdn.example'],
    ['ht\ntps://cdn.example', 'cdn.example'],
  ])('%s leaves the site', (address, host) => {
    expect(destinationOf(address, 'a/')).toEqual({ kind: 'external', host });
  });

  it.each([
    '#top',
    '',
    '?q',
    'mailto:a@b.example',
    'data:image/png;base64,AA==',
    'javascript:void 0',
    'tel:1',
    'blob:x',
  ])('%s leads nowhere else', (address) => {
    expect(destinationOf(address, 'a/')).toEqual({ kind: 'nowhere' });
  });

  it('is where a browser goes', () => {
    const segment = fc.constantFrom('..', '.', 'a', 'b', '');
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 1, maxLength: 6 }),
        fc.constantFrom('', 'x/', 'x/y/'),
        (parts, folder) => {
          const address = parts.join('/');
          fc.pre(!address.startsWith('//') && address !== '');
          const to = destinationOf(address, folder);
          const browser = new URL(address, `https://site.example/${folder}page.html`).pathname.slice(1);
          expect(to).toEqual({ kind: 'internal', path: browser });
        },
      ),
    );
  });

  it('is searched as a file, a page and a folder', () => {
    expect(candidatesOf('')).toContain('index.html');
    expect(candidatesOf('guide')).toEqual(expect.arrayContaining(['guide', 'guide.html', 'guide/index.html']));
    expect(candidatesOf('guide/')).toEqual(expect.arrayContaining(['guide/index.html', 'guide.html']));
  });
});
