import type { RuleText } from './structure-rules.ts';

/** What happens to an archive that breaks a rule about the content of the site. */
export type RuleLevel = 'refuse' | 'warn' | 'off';

interface SiteRuleText extends RuleText {
  /** Unless `bundle.rules` says otherwise. */
  level: RuleLevel;
}

/** Every rule about the content of a site (verification.md), by its stable name. */
export const siteRuleTexts = {
  'no-page': rule('refuse', 'an archive without any `.html` file', 'There is no site in it.'),
  'no-index-page': rule(
    'refuse',
    'no `index.html` at the root, even if everything is below one folder',
    'The site would have no page at `/`.',
  ),
  'no-404-page': rule(
    'off',
    'no `404.html` at the root',
    'For a missing page, readers get the bare message of the server.',
  ),
  'broken-link': rule(
    'warn',
    'a link to a page that is not in the archive',
    'Readers reach nothing. `/guide`, `/guide.html` and `/guide/index.html` are the same page.',
  ),
  'missing-resource': rule(
    'warn',
    'a script, style, image, font or other part of a page that is not in the archive',
    'The page looks or works wrong.',
  ),
  'external-resource': rule(
    'warn',
    'a part of a page that is loaded from another host: attributes, `srcset`, CSS `url()` and `@import`, import maps, pings',
    'A bundle claims to need nothing at runtime; behind an air gap it breaks, elsewhere it tells others who reads.',
  ),
  'external-base': rule('warn', '`<base href>` to another host', 'Every relative link of the page leaves the copy.'),
  'external-refresh': rule('warn', 'a `<meta>` refresh to another host', 'The page leaves the copy without a click.'),
  'origin-link': rule(
    'warn',
    "a link to the site's own domain with its host, where the domain is known: in an export, not in `export verify`",
    'Readers of a copy elsewhere end up at the original.',
  ),
  'service-worker': rule(
    'warn',
    'the registration of a service worker',
    'It may keep serving an old version after a rollout.',
  ),
  'server-file': rule(
    'refuse',
    'files that web servers execute or read as settings: `.htaccess`, `.user.ini`, `web.config`, `*.php`, `*.cgi`, `*.shtml`, `*.asp`, `*.jsp` and similar',
    'A static site needs none, and what a server executes runs with its rights.',
    'CWE-434',
  ),
  'secret-file': rule(
    'warn',
    'files that no site needs and that hold secrets: `.git`, `.env`, private keys, credentials',
    'Everyone can read a published file.',
    'CWE-538',
  ),
  'secret-text': rule(
    'warn',
    'text that looks like a private key or an access token; the text itself is never shown',
    'Everyone can read a published file.',
    'CWE-798',
  ),
  'source-map': rule('warn', 'source maps, as files or within a file', 'They hold the sources of scripts.', 'CWE-540'),
  'not-inspected': rule(
    'warn',
    'pages, styles and scripts over 32 MiB; the rest of a page whose elements stand over 500 deep',
    'Inspecting them would take too long.',
  ),
  'narrow-reader': rule(
    'warn',
    '64-bit forms and data descriptors of a zip at which `unzip` of BusyBox, `ZipInputStream` of Java or 7-Zip stops with an error',
    'The archive cannot be unpacked with that reader; with every other one it is the same.',
  ),
} as const satisfies Record<string, SiteRuleText>;

export type SiteRule = keyof typeof siteRuleTexts;
export type SiteRuleLevels = { readonly [rule in SiteRule]?: RuleLevel | undefined };

export function isSiteRule(name: string): name is SiteRule {
  return name in siteRuleTexts;
}

function rule(level: RuleLevel, refuses: string, why: string, reference = ''): SiteRuleText {
  return { level, refuses, why, reference };
}
