import { renderRuleTexts } from './render-rules.ts';
import { signatureRuleTexts } from './signature-rules.ts';
import { siteRuleTexts } from './site-rules.ts';
import { type RuleText, structureRuleTexts } from './structure-rules.ts';

/** Every rule of verification, by its name. */
export const ruleTexts = { ...structureRuleTexts, ...siteRuleTexts, ...renderRuleTexts, ...signatureRuleTexts };

export type RuleName = keyof typeof ruleTexts;

/** What a rule refuses, why, and where the danger is documented; null for unknown names. */
export function explainRule(name: string): RuleText | null {
  return new Map<string, RuleText>(Object.entries(ruleTexts)).get(name) ?? null;
}
