import type { StructureRule } from '../rules/structure-rules.ts';

/** The archive breaks a rule about its structure, and reading cannot continue. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault';
  readonly rule: StructureRule;
  /** Path inside the archive; null when the fault concerns the whole archive. */
  readonly path: string | null;

  constructor(rule: StructureRule, path: string | null, detail: string) {
    super(detail);
    this.rule = rule;
    this.path = path;
  }
}
