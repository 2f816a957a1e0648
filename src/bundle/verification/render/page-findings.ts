import type { RenderRule } from '../../rules/render-rules.ts';

/** At most 100 of a page; each rule has its own share, so that a flood of one hides nothing of another. */
const keptOfARule = 25;
const detailCharacters = 300;

/** The different findings of one page, of which a hostile page makes as many as it likes. */
export class PageFindings {
  readonly #kept = new Map<RenderRule, Set<string>>();
  readonly #dropped = new Map<RenderRule, number>();

  add(rule: RenderRule, detail: string): void {
    const kept = this.#kept.get(rule) ?? new Set();
    this.#kept.set(rule, kept);
    // Copied: a slice alone would keep all of a long text in memory.
    const cut = Buffer.from(detail.slice(0, detailCharacters)).toString();
    if (kept.has(cut)) return;
    if (kept.size < keptOfARule) kept.add(cut);
    else this.#dropped.set(rule, this.dropped(rule) + 1);
  }

  /** What was kept, each once. */
  of(rule: RenderRule): string[] {
    return [...(this.#kept.get(rule) ?? [])];
  }

  /** How many were not kept, repetitions among them. */
  dropped(rule: RenderRule): number {
    return this.#dropped.get(rule) ?? 0;
  }
}
