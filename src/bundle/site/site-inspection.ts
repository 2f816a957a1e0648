import type { Reason } from '../../model/cargo.ts';
import { isPage, missingIndexPage } from './site-pages.ts';
import { SITE_RULES, type RuleLevel, type SiteRule, type SiteRuleLevels } from './site-rules.ts';

export class SiteInspection {
  readonly #levels: SiteRuleLevels;
  constructor(levels: SiteRuleLevels) {
    this.#levels = levels;
  }
  wants(_path: string, _bytes: number): boolean {
    return false;
  }
  inspect(_path: string, _content: Buffer): void {}
  conclude(paths: readonly string[]): { reasons: Reason[]; warnings: Reason[] } {
    const reasons: Reason[] = [];
    const level = (rule: SiteRule): RuleLevel => this.#levels[rule] ?? SITE_RULES[rule].level;
    if (level('no-page') === 'refuse' && !paths.some(isPage)) reasons.push({ rule: 'no-page', path: null, detail: 'the archive holds no HTML page' });
    const missing = missingIndexPage(paths);
    if (missing) reasons.push({ rule: 'no-index-page', path: null, detail: missing });
    return { reasons, warnings: [] };
  }
}
