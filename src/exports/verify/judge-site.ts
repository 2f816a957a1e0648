import type { Reason } from '../rules/archive-facts.ts';
import { foldPath } from '../archive/check-path.ts';
import { isSiteRule, type RuleLevel, type SiteRuleLevels, siteRuleTexts } from '../rules/site-rules.ts';
import { Findings } from './findings.ts';
import type { SiteNotes, Target } from './inspect-file.ts';
import { secretFile } from './secrets.ts';
import { serverFile } from './server-files.ts';
import { candidatesOf } from './site-links.ts';
import { isPage, missingIndexPage } from './site-pages.ts';

export interface SiteJudgement {
  /** Why the archive is refused. */
  reasons: Reason[];
  warnings: Reason[];
}

/** What breaks the rules about a site's content, each rule at its level. @param paths of all files */
export function judgeSite(
  paths: readonly string[],
  notes: readonly SiteNotes[],
  levels: SiteRuleLevels,
): SiteJudgement {
  const findings = new Findings();
  if (!paths.some(isPage)) findings.add('no-page', null, 'the archive contains no HTML page');
  const missingIndex = missingIndexPage(paths);
  if (missingIndex !== null) findings.add('no-index-page', null, missingIndex);
  if (!paths.includes('404.html')) findings.add('no-404-page', null, 'there is no 404.html at the root of the archive');
  for (const path of paths) judgeName(path, findings);
  for (const note of notes) findings.merge(note.findings);
  judgeTargets(paths, notes, findings);
  const judged: Record<RuleLevel, Reason[]> = { refuse: [], warn: [], off: [] };
  for (const rule of Object.keys(siteRuleTexts).filter(isSiteRule)) {
    judged[levels[rule] ?? siteRuleTexts[rule].level].push(...findings.of(rule));
  }
  return { reasons: judged.refuse, warnings: judged.warn };
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
