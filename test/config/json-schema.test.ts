import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configJsonSchema, fieldSchema, type JsonSchema } from '../../src/config/json-schema.ts';
import { minimal, organizationWith, problemsOf } from './config-folder.ts';

const validate = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false }).compile(configJsonSchema());

const accepts = (yaml: string): boolean => validate(parse(yaml));
const site = (more: string) => organizationWith(`sites:\n  - domain: docs.acme.example\n    ${more}`);

describe('the JSON Schema for editors', () => {
  it.each([
    ['the whole example', readFileSync('test/config/whole.yaml', 'utf8')],
    ['the example', readFileSync('docferry.example.yaml', 'utf8')],
    ['the smallest file', minimal],
    ['a size in bytes', site('bundle: { maxBytes: 1000 }')],
    ['a bucket', `${minimal}store: { bundles: { s3: { bucket: docs, prefix: a/b/, region: eu-central-1 } } }\n`],
    ['a key file', minimal.replace(/apiKey: .*/, 'apiKeyFile: ./key')],
    ['a number from the environment', organizationWith(`budget: { requests: "\${REQUESTS}", window: "\${HOURS}h" }`)],
    ['a switch from the environment', minimal.replace(' }', `, allowInsecure: "\${INSECURE}" }`)],
    ['hashes', `${minimal}privacy: { contacts: hash, hashKey: "\${KEY}", keepFields: [locale], retention: 400d }\n`],
    ['a choice from the environment', site(`approval: "\${APPROVAL}"`)],
  ])('accepts %s', (_what, yaml) => {
    expect([accepts(yaml), validate.errors]).toEqual([true, null]);
  });

  it.each([
    ['an unknown field', organizationWith('bugdet: { requests: 10 }')],
    ['a missing field', 'organizations: [{ id: acme, apiKey: k }]\n'],
    ['a duration without a unit', organizationWith('budget: { window: "10" }')],
    ['a size of an unknown unit', site('bundle: { maxBytes: 5XB }')],
    ['a number out of range', organizationWith('budget: { requests: 0 }')],
    ['an unknown choice', site('approval: maybe')],
    ['an address without a scheme', minimal.replace('https://', '')],
    ['a domain with a scheme', organizationWith('sites: [{ domain: "https://a.example" }]')],
    ['both ways of a schedule', site('schedule: { every: 1h, cron: "0 6 * * *" }')],
    ['a time zone without cron', site('schedule: { every: 1h, timezone: UTC }')],
    ['a schedule of nothing', site('schedule: { jitter: 1m }')],
    ['two kinds of target in one', site('rollout: [{ directory: { path: a }, helmValues: { file: b } }]')],
    ['two keys', organizationWith('apiKeyFile: ./key')],
    ['two bundle stores', `${minimal}store: { bundles: { directory: ./b, s3: { bucket: docs } } }\n`],
    ['a bucket with its scheme', `${minimal}store: { bundles: { s3: { bucket: "s3://docs" } } }\n`],
    ['a prefix that begins at the root', `${minimal}store: { bundles: { s3: { bucket: docs, prefix: /b } } }\n`],
  ])('refuses %s, as loading does', (_what, yaml) => {
    expect(accepts(yaml)).toBe(false);
    expect(problemsOf(yaml)).not.toEqual([]);
  });

  it('explains every field', () => {
    expect(fields().filter(({ schema }) => (schema.description ?? '') === '')).toEqual([]);
  });
});

function fields(schema: JsonSchema = fieldSchema(), at = ''): { path: string; schema: JsonSchema }[] {
  if (schema.items) return fields(schema.items, `${at}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = at === '' ? name : `${at}.${name}`;
    return [{ path, schema: field }, ...fields(field, path)];
  });
}
