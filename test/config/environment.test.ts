import { describe, expect, it } from 'vitest';
import { expand } from '../../src/config/secrets.ts';
import { load, minimal, organizationWith, problemsOf } from './config-folder.ts';

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
