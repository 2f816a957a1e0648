import { foldPath } from '../archive/check-entry.ts';
import {
  isSiteRule,
  JudgedFindings,
  type Judgement,
  type SiteRuleLevels,
  siteRuleTexts,
} from '../rules/verification-rules.ts';
import { Findings, type SiteNotes, secretFile, type Target } from './inspect-file.ts';
import { candidatesOf, isPage, missingIndexPage } from './site-links.ts';

const serverFiles: readonly (readonly [string, RegExp])[] = [
  ['settings of Apache', /(?:^|\/)\.ht(?:access|passwd|group|groups|digest)$/i],
  ['settings of PHP', /(?:^|\/)(?:\.user|php)\.ini$/i],
  ['settings of IIS', /(?:^|\/)(?:web\.config|global\.asax)$/i],
  ['a program of PHP', /\.(?:php\d?|phps|pht|phtml|phar)$/i],
  ['a program of CGI', /\.f?cgi$/i],
  ['a page with server-side includes', /\.(?:shtml?|stm)$/i],
  ['a program of ASP', /\.(?:aspx?|ashx|asmx|asa|cshtml|vbhtml)$/i],
  ['a program of JSP or ColdFusion', /\.(?:jspx?|jspf|cfml?|cfc)$/i],
];

/** What a file is that common web servers execute or read as settings, by its path; null for others. */
export function serverFile(path: string): string | null {
  return serverFiles.find(([, pattern]) => pattern.test(path))?.[0] ?? null;
}

/** What breaks the rules about a site's content, each rule at its level. @param paths of all files */
export function judgeSite(paths: readonly string[], notes: readonly SiteNotes[], levels: SiteRuleLevels): Judgement {
  const findings = new Findings();
  if (!paths.some(isPage)) findings.add('no-page', null, 'the archive contains no HTML page');
  const missingIndex = missingIndexPage(paths);
  if (missingIndex !== null) findings.add('no-index-page', null, missingIndex);
  if (!paths.includes('404.html')) findings.add('no-404-page', null, 'there is no 404.html at the root of the archive');
  for (const path of paths) judgeName(path, findings);
  for (const note of notes) findings.merge(note.findings);
  judgeTargets(paths, notes, findings);
  const judged = new JudgedFindings();
  for (const rule of Object.keys(siteRuleTexts).filter(isSiteRule)) {
    judged.add(levels[rule] ?? siteRuleTexts[rule].level, findings.of(rule));
  }
  return judged.judgement();
}

function judgeName(path: string, findings: Findings): void {
  const what = secretFile(path);
  if (what !== null) findings.add('secret-file', path, what);
  const served = serverFile(path);
  if (served !== null) findings.add('server-file', path, served);
  if (/\.(?:js|mjs|cjs|css)\.map$/i.test(path)) findings.add('source-map', path, 'a source map');
}

function judgeTargets(paths: readonly string[], notes: readonly SiteNotes[], findings: Findings): void {
  const files = new Set(paths);
  const seen = new Set<string>();
  let folded: Map<string, string> | null = null;
  for (const { targets } of notes) {
    for (const [path, target] of targets) {
      if (seen.has(path) || candidatesOf(path).some((candidate) => files.has(candidate))) continue;
      seen.add(path);
      folded ??= new Map(paths.map((file) => [foldPath(file), file]));
      const other = candidatesOf(path).map((candidate) => folded?.get(foldPath(candidate)));
      report(
        path,
        target,
        other.find((found) => found !== undefined),
        findings,
      );
    }
  }
}

function report(
  path: string,
  { isResource, page, line, by }: Target,
  other: string | undefined,
  findings: Findings,
): void {
  const advice = other === undefined ? '' : `, which is there as ${JSON.stringify(other)}`;
  const detail = `line ${line}: ${by} leads to ${JSON.stringify(`/${path}`)}${advice}`;
  findings.add(isResource ? 'missing-resource' : 'broken-link', page, detail);
}
