import type { Reason } from './archive-facts.ts';
import type { RuleName } from './rules.ts';

const mostListed = 20;
const printedPath = 200;

/** Collects reasons, the first 20 in full and a count of the rest. */
export class ReasonList {
  readonly #listed: Reason[] = [];
  #count = 0;

  add(rule: RuleName, path: string | null, detail: string): void {
    this.#count += 1;
    if (this.#count > mostListed) return;
    this.#listed.push({ rule, path: path === null ? null : printablePath(path), detail });
  }

  get count(): number {
    return this.#count;
  }

  /** The reasons in the order found; one `more-reasons` at the end stands for those not listed. */
  all(): Reason[] {
    const more = this.#count - this.#listed.length;
    if (more === 0) return [...this.#listed];
    return [...this.#listed, { rule: 'more-reasons', path: null, detail: `${more} more not listed` }];
  }
}

/** A path that is safe to print: control, format and unpaired code points escaped, at most 200 characters. */
export function printablePath(path: string): string {
  const cut = path.slice(0, printedPath + 1);
  const escaped = cut.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );
  return escaped.length > printedPath ? `${escaped.slice(0, printedPath - 1)}…` : escaped;
}
