import type { RenderRule } from '../rules/render-rules.ts';

/** At most 100 a page; each rule has its own share, so that a flood of one hides nothing of another. */
const keptPerRule = 25;
const detailCharacters = 300;

/** The distinct findings of one page; a hostile page can cause any number of them. */
export class PageFindings {
  readonly #kept = new Map<RenderRule, Set<string>>();
  readonly #dropped = new Map<RenderRule, number>();

  add(rule: RenderRule, detail: string): void {
    const kept = this.#kept.get(rule) ?? new Set();
    this.#kept.set(rule, kept);
    // Copied: a slice would keep the whole of a long text in memory.
    const cut = Buffer.from(detail.slice(0, detailCharacters)).toString();
    if (kept.has(cut)) return;
    if (kept.size < keptPerRule) kept.add(cut);
    else this.#dropped.set(rule, this.dropped(rule) + 1);
  }

  /** What was kept, each once. */
  of(rule: RenderRule): string[] {
    return [...(this.#kept.get(rule) ?? [])];
  }

  /** How many were not kept, repetitions included. */
  dropped(rule: RenderRule): number {
    return this.#dropped.get(rule) ?? 0;
  }
}
