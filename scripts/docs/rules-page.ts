import {
  type ChangeLimit,
  type ChangeRule,
  changeRuleTexts,
  limitText,
  type RuleText,
  renderRuleTexts,
  signatureRuleTexts,
  siteRuleTexts,
  structureRuleTexts,
} from '../../src/exports/rules/verification-rules.ts';

const intro = `# Rules

<!-- Generated from the texts of the rules by \`npm run docs\`: change them there. -->

What [verification](verification.md) refuses or warns of, and why. \`docferry export verify FILE --explain\` prints the same
for the rules that an archive breaks.
`;

/** `docs/rules.md`: a table for each kind of rule, in the order in which the code lists them. */
export function rulesPage(): string {
  return [
    intro,
    table('Structure', 'A broken rule refuses the archive.', structureRuleTexts),
    table('Site', 'The level holds unless `bundle.rules` sets another.', siteRuleTexts),
    table(
      'Change',
      'Beside the version in service. A level in `bundle.rules` counts from the first page on, unless `above` or `below` gives a limit.',
      Object.fromEntries(
        Object.entries(changeRuleTexts).map(([rule, text]) => [rule, { ...text, level: usual(rule, text) }]),
      ),
    ),
    table('Rendering', 'Only where `bundle.render` or `--render` opens pages.', renderRuleTexts),
    table('Signatures', 'A broken rule refuses the version.', signatureRuleTexts),
  ].join('\n');
}

function usual(rule: string, { limits }: { limits: readonly ChangeLimit[] }): string {
  return limits.map(({ level, limit }) => `${level} ${limitText(rule as ChangeRule, limit)}`).join(', ');
}

function table(heading: string, about: string, texts: Record<string, RuleText & { level?: string }>): string {
  const rows = Object.entries(texts).map(([rule, { level, refuses, why, reference }]) => {
    const name = level === undefined ? `\`${rule}\`` : `\`${rule}\` (${level})`;
    return `| ${name} | ${cell(refuses)} | ${cell(why)} | ${cell(reference)} |`;
  });
  return `## ${heading}\n\n${about}\n\n| rule | finds | because | see |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');
