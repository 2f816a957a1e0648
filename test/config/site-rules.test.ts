import { describe, expect, it } from 'vitest';
import { fieldSchema, type JsonSchema } from '../../src/config/json-schema.ts';
import { renderRuleTexts, siteRuleTexts } from '../../src/exports/rules/verification-rules.ts';

function at(schema: JsonSchema | undefined, ...path: string[]): JsonSchema | undefined {
  const [name, ...rest] = path;
  if (name === undefined) return schema;
  return at(name === '[]' ? schema?.items : schema?.properties?.[name], ...rest);
}

describe('bundle.rules', () => {
  it('has every rule about the content of a site, with its own level as the default', () => {
    const rules = at(fieldSchema(), 'organizations', '[]', 'sites', '[]', 'bundle', 'rules')?.properties ?? {};
    expect(Object.keys(rules)).toEqual([...Object.keys(siteRuleTexts), ...Object.keys(renderRuleTexts)]);
    for (const [name, { level }] of Object.entries({ ...siteRuleTexts, ...renderRuleTexts })) {
      expect(rules[name]?.description, name).toContain(`Absent: \`${level}\`.`);
    }
  });
});
