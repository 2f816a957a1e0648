import type { RuleLevel } from './site-rules.ts';
import type { RuleText } from './structure-rules.ts';

interface RenderRuleText extends RuleText {
  /** Unless `bundle.rules` says otherwise. */
  level: RuleLevel;
}

/** Every rule about sampled pages in a browser, by its stable name. */
export const renderRuleTexts = {
  'page-does-not-render': rule(
    'a page that does not load within 15 s, crashes the browser, or shows a single colour',
    'Readers see nothing.',
  ),
  'page-script-error': rule('an error that no script of the page catches', 'Something on the page does not work.'),
  'page-request-failed': rule(
    'a request of the page, also by its scripts, to something that is not in the archive',
    'Something is missing that the files alone do not show.',
  ),
  'page-external-request': rule(
    'a request of the page, also by its scripts, to another host; it is never let through',
    'A bundle claims to need nothing at runtime.',
  ),
} as const satisfies Record<string, RenderRuleText>;

export type RenderRule = keyof typeof renderRuleTexts;
export type RenderRuleLevels = { readonly [rule in RenderRule]?: RuleLevel | undefined };

export function isRenderRule(name: string): name is RenderRule {
  return name in renderRuleTexts;
}

function rule(refuses: string, why: string): RenderRuleText {
  return { level: 'warn', refuses, why, reference: '' };
}
