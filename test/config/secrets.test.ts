import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { ConfigError, expand } from '../../src/config/secrets.ts';
import { failureOf, folderWith, load, minimal, organizationWith, problemsOf, key as someKey } from './config-folder.ts';

const withFile = minimal.replace(/apiKey: .*/, 'apiKeyFile: ./acme.key');
const withLiteral = minimal.replace(/apiKey: .*/, `apiKey: ${someKey}`);

function keyOf(config: ReturnType<typeof load>) {
  const [organization] = config.organizations;
  if (organization === undefined) throw new Error('no organization');
  return organization.apiKey;
}

describe('API keys', () => {
  it.each([
    ['the environment variable ACME_API_KEY', minimal],
    ['the configuration file', withLiteral],
  ])('come from %s and never show, however the configuration is printed', (place, yaml) => {
    const config = load(yaml);
    const key = keyOf(config);
    expect(key.read()).toBe(someKey);
    expect(key.describe()).toBe(place);
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: 10, showHidden: true }),
      `${key}`,
      Object.values(key).join(),
      JSON.stringify({ ...key }),
    ];
    for (const text of printed) expect(text).not.toContain(someKey);
  });

  it('come from a file, trimmed, read again when it changes', () => {
    const cwd = folderWith({ 'docferry.yaml': withFile, 'acme.key': `${someKey}\n` });
    const config = loadConfig({ env: {}, cwd, secrets: 'required' });
    expect(keyOf(config).read()).toBe(someKey);
    expect(keyOf(config).describe()).toBe(`the file ${path.join(cwd, 'acme.key')}`);
    writeFileSync(path.join(cwd, 'acme.key'), 'another-and-longer-key-than-before\r\n');
    expect(keyOf(config).read()).toBe('another-and-longer-key-than-before');
    expect(inspect(config, { depth: 10, showHidden: true })).not.toContain('another-and-longer');
  });

  it('must be there when they are required', () => {
    const unset = failureOf(() => load(minimal, { env: {} }));
    expect(unset.problems).toEqual([
      {
        path: 'organizations[0].apiKey',
        position: { line: 5, column: 13 },
        message: 'the environment variable ACME_API_KEY is not set',
      },
    ]);
    expect(failureOf(() => load(minimal, { env: { ACME_API_KEY: ' ' } })).message).toMatch(
      /there is no API key in the environment/,
    );
    const noFile = failureOf(() => load(withFile));
    expect(noFile.problems[0]?.path).toBe('organizations[0].apiKeyFile');
    expect(noFile.message).toMatch(/acme\.key \(no such file\)/);
  });

  it('never show where a path should stand', () => {
    const problems = problemsOf(minimal.replace('apiKey:', 'apiKeyFile:'));
    expect(problems).toEqual([
      `organizations[0].apiKeyFile: the API key cannot be read from the file \${ACME_API_KEY} (no such file)`,
    ]);
  });

  it('are asked for only when used where they are deferred', () => {
    const config = load(minimal, { env: {}, secrets: 'deferred' });
    expect(() => keyOf(config).read()).toThrow(new ConfigError('the environment variable ACME_API_KEY is not set'));
    const noFile = load(withFile, { secrets: 'deferred' });
    expect(() => keyOf(noFile).read()).toThrow(ConfigError);
  });

  it('are given once, one way', () => {
    const neither = failureOf(() => load(minimal.replace(/ {4}apiKey: .*\n/, '')));
    const both = failureOf(() => load(organizationWith('apiKeyFile: ./acme.key')));
    for (const error of [neither, both]) expect(error.message).toContain('expected either apiKey or apiKeyFile');
  });

  it('never show in errors about them or near them', () => {
    const wrong = [
      withLiteral.replace('apiKey:', 'apikey:'),
      withLiteral.replace(`apiKey: ${someKey}`, `apiKey: [${someKey}]`),
      withLiteral.replace(`apiKey: ${someKey}`, `apiKey: { value: ${someKey} }`),
      withLiteral.replace('id: acme', 'id: a b'),
      withLiteral.replace('id: acme', `id: "/${someKey}"`),
    ];
    for (const yaml of wrong) expect(failureOf(() => load(yaml)).message).not.toContain(someKey);
  });
});

describe('Other secrets', () => {
  const others: [field: string, yaml: (value: string) => string][] = [
    ['temporal.codecToken', (value) => `${minimal}temporal: { codecToken: ${value} }\n`],
    [
      'console.oidc.clientSecret',
      (value) => `${minimal}console: { oidc: { issuer: "https://id.example", clientId: c, clientSecret: ${value} } }\n`,
    ],
  ];

  it.each(others)('are read when they are used, as they are in the environment: %s', (_field, yaml) => {
    const written = yaml(`"\${OTHER_SECRET}"`);
    const unset = load(written, { secrets: 'deferred' });
    expect(JSON.stringify(unset)).toContain('the environment variable OTHER_SECRET');
    const OTHER_SECRET = `of-\${A}-and-$\${B}-longer`;
    const { temporal, console } = load(written, { env: { ACME_API_KEY: 'k', OTHER_SECRET } });
    expect((temporal.codecToken ?? console.oidc?.clientSecret)?.read()).toBe(OTHER_SECRET);
  });

  it('are not asked for by a worker where only a server reads them', () => {
    const servers = `temporal: { codecToken: "\${CODEC}" }\nstore: { bundles: { server: { token: "\${BUNDLES}" } } }\n`;
    const { temporal, store } = load(`${minimal}${servers}`);
    expect(() => temporal.codecToken?.read()).toThrow('the environment variable CODEC is not set');
    expect(() => store.bundles.server.token?.read()).toThrow('the environment variable BUNDLES is not set');
    expect(problemsOf(`${minimal}temporal: { codecToken: short }\n`)[0]).toMatch(
      /^temporal.codecToken: expected a token/,
    );
  });

  it.each(others)('never show in errors about them: %s', (field, yaml) => {
    const [problem] = problemsOf(yaml('4711'));
    expect(problem).toMatch(new RegExp(`^${field}: expected`));
    expect(problem).not.toContain('4711');
  });
});

describe(`\${NAME}`, () => {
  it('is replaced by the environment, once, anywhere in a value', () => {
    const env = { A: 'x', B: `\${A}` };
    expect(expand(`1\${A}2\${B}`, env)).toEqual({ text: `1x2\${A}`, missing: [], malformed: [] });
    expect(expand('$A $$ {A} $', env).text).toBe('$A $$ {A} $');
    expect(expand(`$\${A}`, env).text).toBe(`\${A}`);
  });

  it('reports what is not set and what is no name', () => {
    expect(expand(`\${C}-\${A:-x}-\${}-\${A`, { A: 'x' })).toMatchObject({
      missing: ['C'],
      malformed: [`\${A:-x}`, `\${}`, `\${A`],
    });
  });

  it('works in every value of the file, never in keys or comments', () => {
    const yaml = organizationWith(`# \${NOT_SET}\nbudget:\n  requests: \${LIMIT}\nprojects:\n  - id: "\${PROJECT}"`);
    const config = load(yaml, { env: { ACME_API_KEY: 'k', LIMIT: '7', PROJECT: '42' } });
    expect(config.organizations[0]).toMatchObject({ budget: { requests: 7 }, projects: [{ id: '42' }] });
    expect(problemsOf(`${minimal}\${KEY}: 1\n`, { env: { KEY: 'temporal', ACME_API_KEY: 'k' } })[0]).toMatch(
      /unknown key/,
    );
  });

  it('names the field and the variable that is not set', () => {
    expect(problemsOf(organizationWith(`projects:\n  - id: a\n  - id: \${PROJECT}`))).toEqual([
      'organizations[0].projects[1].id: the environment variable PROJECT is not set',
    ]);
  });

  it("shows the name in errors, never the environment's value", () => {
    const yaml = organizationWith(`budget:\n  requests: \${LIMIT}`);
    const [problem] = problemsOf(yaml, { env: { ACME_API_KEY: 'k', LIMIT: 'hunter2' } });
    expect(problem).toMatch(/it is "\$\{LIMIT\}"$/);
    expect(problem).not.toContain('hunter2');
  });
});
