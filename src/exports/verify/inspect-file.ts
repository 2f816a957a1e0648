import type { NarrowReader } from '../archive/archive-reader.ts';
import type { Reason } from '../rules/site-export.ts';
import { printablePath, type SiteRule, type SiteRuleLevels } from '../rules/verification-rules.ts';
import {
  cssReferences,
  deepestElement,
  htmlContent,
  type Reference,
  scriptReferences,
  serviceWorkerAt,
} from './references.ts';
import { destinationOf, folderOf } from './site-links.ts';

/** Findings listed for each rule; the others are counted. */
const mostListed = 10;

/** Findings by rule; may be passed between threads. */
type FindingsByRule<Rule extends string> = Map<Rule, { listed: Reason[]; count: number }>;

/** Collects what breaks rules: the first ten findings of each rule and a count of the rest. */
export class Findings<Rule extends string = SiteRule> {
  readonly byRule: FindingsByRule<Rule> = new Map();

  add(rule: Rule, path: string | null, detail: string): void {
    const found = this.#of(rule);
    found.count += 1;
    if (found.listed.length >= mostListed) return;
    found.listed.push({ rule, path: path === null ? null : printablePath(path), detail: printablePath(detail) });
  }

  merge(other: FindingsByRule<Rule>): void {
    for (const [rule, { listed, count }] of other) {
      const found = this.#of(rule);
      found.count += count;
      found.listed.push(...listed.slice(0, mostListed - found.listed.length));
    }
  }

  /** The findings of one rule; the last one counts those not listed. */
  of(rule: Rule): Reason[] {
    const { listed, count } = this.#of(rule);
    const more = count - listed.length;
    return more === 0 ? listed : [...listed, { rule, path: null, detail: `${more} more not listed` }];
  }

  #of(rule: Rule): { listed: Reason[]; count: number } {
    const found = this.byRule.get(rule) ?? { listed: [], count: 0 };
    this.byRule.set(rule, found);
    return found;
  }
}

/** Line numbers of offsets in a text, counted from 1; fast when the offsets come in order. */
class LineCounter {
  readonly #text: string;
  /** Where the line begins that was asked for last, its number, and where it ends. */
  #start = 0;
  #line = 1;
  #end = -1;

  constructor(text: string) {
    this.#text = text;
  }

  lineOf(at: number): number {
    if (at < this.#start || this.#end < 0) {
      this.#start = 0;
      this.#line = 1;
      this.#end = this.#endFrom(0);
    }
    while (this.#end < at) {
      this.#line += 1;
      this.#start = this.#end + 1;
      this.#end = this.#endFrom(this.#start);
    }
    return this.#line;
  }

  #endFrom(at: number): number {
    const end = this.#text.indexOf('\n', at);
    return end < 0 ? Number.POSITIVE_INFINITY : end;
  }
}

/** What a secret begins with: a quick first search that few files match. */
const secretStart = /-----BEGIN |AKIA|gh[pousr]_|github_pat_|xox[abprs]-|[sr]k_live_|npm_|glpat-/g;

const shapes: readonly (readonly [string, RegExp])[] = [
  [
    'a private key',
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\s){1,9}(?:[A-Za-z-]{1,40}: [^\n]{0,200}\n\s{0,9}){0,9}[A-Za-z0-9+/=]{40}/y,
  ],
  ['an access key of AWS', /AKIA(?![0-9A-Z]{0,9}EXAMPLE)[0-9A-Z]{16}\b/y],
  ['a token of GitHub', /gh[pousr]_[A-Za-z0-9]{36}\b|github_pat_[A-Za-z0-9_]{60}/y],
  ['a token of Slack', /xox[abprs]-[0-9]+-[0-9A-Za-z-]{20}/y],
  ['a key of Stripe', /[sr]k_live_[0-9A-Za-z]{20}/y],
  ['a token of npm', /npm_[A-Za-z0-9]{36}\b/y],
  ['a token of GitLab', /glpat-[A-Za-z0-9_-]{20}\b/y],
];

const secretFiles: readonly (readonly [string, RegExp])[] = [
  ['part of a Git repository', /(?:^|\/)\.(?:git|svn|hg)\//],
  ['environment variables', /(?:^|\/)\.env(?:\.(?!example$|sample$|template$)[^/]*)?$/i],
  ['a private key', /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)$|\.(?:p12|pfx|jks|keystore|ppk)$/i],
  [
    'credentials',
    /(?:^|\/)(?:\.npmrc|\.netrc|\.pypirc|\.htpasswd|\.git-credentials|\.docker\/config\.json|\.aws\/credentials)$/,
  ],
];

/** What looks like a secret in a text, and where; never the secret itself. */
function secretsIn(text: string): { what: string; at: number }[] {
  const found: { what: string; at: number }[] = [];
  for (const { index } of text.matchAll(secretStart)) {
    const what = shapeAt(text, index);
    if (what !== null) found.push({ what, at: index });
  }
  return found;
}

/** What kind of file, that no site should contain, a path names; null for others. */
export function secretFile(path: string): string | null {
  return secretFiles.find(([, pattern]) => pattern.test(path))?.[0] ?? null;
}

function shapeAt(text: string, at: number): string | null {
  for (const [what, pattern] of shapes) {
    pattern.lastIndex = at;
    if (pattern.test(text)) return what;
  }
  return null;
}

/** Larger texts are not inspected: they would have to fit in memory. */
const mostBytes = 32 * 1024 ** 2;
/** Different link targets remembered; a site with more of them keeps those found first. */
const mostTargets = 2_000_000;
/** A longer `<base href>` is no folder of a site: joined to each link, it would take time and memory by the square. */
const longestBase = 4_096;
const inlineSourceMap = /[/*][#@] sourceMappingURL=data:/;

type TextKind = 'html' | 'svg' | 'css' | 'script' | 'text';

/** What is inspected, by the extension of its name. */
const extensions: readonly (readonly [TextKind, string])[] = [
  ['html', 'html htm'],
  ['svg', 'svg'],
  ['css', 'css'],
  ['script', 'js mjs cjs'],
  ['text', 'json webmanifest txt md mdx xml yml yaml toml ini conf sh pem key env map csv'],
];
const kinds = new Map(extensions.flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind] as const)));

/** A path within the site that something refers to, and the first reference to it. */
interface Target {
  isResource: boolean;
  page: string;
  line: number;
  by: string;
}

/** What inspecting files has shown; may be passed between threads. `judgeSite` turns it into reasons. */
export interface SiteNotes {
  findings: FindingsByRule<SiteRule>;
  /** By path within the site, decoded. */
  targets: Map<string, Target>;
  /** Where each reader first stops with an error: the name of the entry; null for the archive's end. */
  stops: Map<NarrowReader, string | null>;
}

/** Inspects the files of a site one by one (verification.md, site rules); `judgeSite` checks what needs all of them. */
export class SiteInspection {
  readonly #levels: SiteRuleLevels;
  readonly #domain: string | null;
  readonly #findings = new Findings();
  readonly #targets = new Map<string, Target>();
  readonly #stops: SiteNotes['stops'] = new Map();
  /** References seen in the last folder: most pages of a folder refer to the same ones. */
  #known = new Set<string>();
  #knownFolder: string | null = null;
  #hasGivenUp = false;

  /** @param domain the host that serves the original; null where unknown */
  constructor(levels: SiteRuleLevels, domain: string | null) {
    this.#levels = levels;
    this.#domain = domain;
  }

  wants(path: string, bytes: number): boolean {
    const kind = kindOf(path);
    if (kind === null) return false;
    if (bytes <= mostBytes) return true;
    this.#add('not-inspected', path, `larger than ${mostBytes / 1024 ** 2} MiB`);
    return false;
  }

  inspect(path: string, content: Buffer): void {
    const kind = kindOf(path);
    const text = content.toString('utf8');
    const lines = new LineCounter(text);
    for (const { what, at } of secretsIn(text)) {
      this.#add('secret-text', path, `line ${lines.lineOf(at)}: looks like ${what}`);
    }
    if (kind === 'html' || kind === 'svg') {
      const { references, scripts, tooDeepAt } = htmlContent(text, { isXml: kind === 'svg' });
      if (tooDeepAt !== null) {
        const what = `elements stand more than ${deepestElement} deep within each other`;
        this.#add('not-inspected', path, `from line ${lines.lineOf(tooDeepAt)} on: ${what}`);
      }
      for (const script of scripts) this.#lookForServiceWorker(path, script, lines);
      this.#follow(path, references, lines);
    } else if (kind === 'css') {
      this.#lookForSourceMap(path, text, lines);
      this.#follow(path, cssReferences(text), lines);
    } else if (kind === 'script') {
      this.#lookForSourceMap(path, text, lines);
      this.#lookForServiceWorker(path, { text, at: 0 }, lines);
      this.#follow(path, scriptReferences(text), lines);
    }
  }

  /** A reader stops with an error at the form of an entry, or of the archive's end; what follows adds nothing. */
  noteStop(reader: NarrowReader, path: string | null): void {
    if (!this.#stops.has(reader)) this.#stops.set(reader, path);
  }

  notes(): SiteNotes {
    return { findings: this.#findings.byRule, targets: this.#targets, stops: this.#stops };
  }

  #follow(page: string, references: readonly Reference[], lines: LineCounter): void {
    const base = references.find(({ kind }) => kind === 'base');
    const folder = base ? this.#baseFolder(page, base, lines) : folderOf(page);
    // With a base on another host, the other references cannot be checked.
    if (folder === null) return;
    if (folder !== this.#knownFolder) {
      this.#known = new Set();
      this.#knownFolder = folder;
    }
    for (const reference of references) {
      if (reference.kind !== 'base') this.#followOne(page, folder, reference, lines);
    }
  }

  #baseFolder(page: string, { url, at }: Reference, lines: LineCounter): string | null {
    if (url.length > longestBase) {
      this.#add('not-inspected', page, `links: the address in <base> is longer than ${longestBase} characters`);
      return null;
    }
    const to = destinationOf(url, folderOf(page));
    if (to.kind === 'internal') return folderOf(to.path);
    if (to.kind === 'nowhere') return folderOf(page);
    this.#add('external-base', page, `line ${lines.lineOf(at)}: <base href> leads to ${to.host}`);
    return null;
  }

  #followOne(page: string, folder: string, { kind, url, by, at }: Reference, lines: LineCounter): void {
    const isResource = kind === 'resource';
    const key = `${kind}\0${url}`;
    if (this.#known.has(key)) return;
    const to = destinationOf(url, folder);
    if (to.kind === 'external') {
      const detail = () => `line ${lines.lineOf(at)}: ${by} leads to ${to.host}`;
      if (kind === 'refresh') this.#add('external-refresh', page, detail());
      else if (kind !== 'link') this.#add('external-resource', page, detail());
      else if (to.host === this.#domain) this.#add('origin-link', page, detail());
      return;
    }
    this.#known.add(key);
    if (to.kind === 'nowhere' || kind === 'contact') return;
    const known = this.#targets.get(to.path);
    if (known === undefined && this.#targets.size === mostTargets) {
      this.#giveUpLinks(page);
      return;
    }
    if (known === undefined || (isResource && !known.isResource)) {
      this.#targets.set(to.path, { isResource, page, line: lines.lineOf(at), by });
    }
  }

  /** Reported once, not for every further page. */
  #giveUpLinks(page: string): void {
    if (this.#hasGivenUp) return;
    this.#hasGivenUp = true;
    this.#add('not-inspected', page, `links from here on: there are more than ${mostTargets} different ones`);
  }

  #lookForServiceWorker(path: string, script: { text: string; at: number }, lines: LineCounter): void {
    const at = serviceWorkerAt(script.text);
    if (at !== null) this.#add('service-worker', path, `line ${lines.lineOf(script.at + at)}: registers one`);
  }

  #lookForSourceMap(path: string, text: string, lines: LineCounter): void {
    const at = text.includes('sourceMappingURL=data:') ? text.search(inlineSourceMap) : -1;
    if (at >= 0) this.#add('source-map', path, `line ${lines.lineOf(at)}: a source map is part of the file`);
  }

  #add(rule: SiteRule, path: string | null, detail: string): void {
    if (this.#levels[rule] !== 'off') this.#findings.add(rule, path, detail);
  }
}

function kindOf(path: string): TextKind | null {
  return kinds.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase()) ?? null;
}
