import { describe, expect, it } from 'vitest';
import { renderRuleTexts } from '../../src/exports/rules/render-rules.ts';
import { siteRuleTexts } from '../../src/exports/rules/site-rules.ts';
import { fieldSchema, type JsonSchema } from '../../src/config/json-schema.ts';

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
