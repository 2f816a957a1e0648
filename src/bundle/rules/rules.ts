import { RENDER_RULES } from './render-rules.ts';
import { SIGNATURE_RULES } from './signature-rules.ts';
import { SITE_RULES } from './site-rules.ts';
import { type RuleText, STRUCTURE_RULES } from './structure-rules.ts';

/** Every rule of verification, by its name. */
export const RULES = { ...STRUCTURE_RULES, ...SITE_RULES, ...RENDER_RULES, ...SIGNATURE_RULES };

export type RuleName = keyof typeof RULES;

/** What a rule refuses, why, and where that is known from; null for names that are no rules. */
export function explainRule(name: string): RuleText | null {
  return new Map<string, RuleText>(Object.entries(RULES)).get(name) ?? null;
}
