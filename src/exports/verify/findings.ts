import type { Reason } from '../rules/archive-facts.ts';
import { printablePath } from '../rules/reason-list.ts';
import type { SiteRule } from '../rules/site-rules.ts';

/** Findings listed for each rule; the others are counted. */
const mostListed = 10;

/** Findings by rule; may be passed between threads. */
export type FindingsByRule = Map<SiteRule, { listed: Reason[]; count: number }>;

/** Collects what breaks rules about a site: the first ten findings of each rule and a count of the rest. */
export class Findings {
  readonly byRule: FindingsByRule = new Map();

  add(rule: SiteRule, path: string | null, detail: string): void {
    const found = this.#of(rule);
    found.count += 1;
    if (found.listed.length >= mostListed) return;
    found.listed.push({ rule, path: path === null ? null : printablePath(path), detail: printablePath(detail) });
  }

  merge(other: FindingsByRule): void {
    for (const [rule, { listed, count }] of other) {
      const found = this.#of(rule);
      found.count += count;
      found.listed.push(...listed.slice(0, mostListed - found.listed.length));
    }
  }

  /** The findings of one rule; the last one counts those not listed. */
  of(rule: SiteRule): Reason[] {
    const { listed, count } = this.#of(rule);
    const more = count - listed.length;
    return more === 0 ? listed : [...listed, { rule, path: null, detail: `${more} more not listed` }];
  }

  #of(rule: SiteRule): { listed: Reason[]; count: number } {
    const found = this.byRule.get(rule) ?? { listed: [], count: 0 };
    this.byRule.set(rule, found);
    return found;
  }
}
