import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { key, load, minimal, problemsOf } from './config-folder.ts';

const environment = (more: Record<string, string>) => ({ env: { ACME_API_KEY: key, ...more } });
const withStore = (address: string) => `${minimal}store: { feedback: "${address}" }\n`;

function postgresOf(config: Config) {
  const { feedback } = config.store;
  if (feedback.kind !== 'postgres') throw new Error('expected PostgreSQL');
  return feedback;
}

describe('store.feedback on PostgreSQL', () => {
  it('takes the password from the environment as it is there, and shows it nowhere', () => {
    const password = 'p@ss/w%rd:#?$$';
    const config = load(
      withStore(`postgres://ann:\${PG_PASSWORD}@db.example/feedback`),
      environment({ PG_PASSWORD: password }),
    );
    const feedback = postgresOf(config);
    expect(feedback).toMatchObject({
      host: 'db.example',
      user: 'ann',
      place: 'postgres://ann@db.example:5432/feedback',
    });
    expect(feedback.password?.read()).toBe(password);
    expect(feedback.password?.describe()).toBe('the environment variable PG_PASSWORD');
    expect(JSON.stringify(config) + inspect(config, { depth: 9 })).not.toContain('p@ss');
  });

  it('reads other variables when the file is loaded, and the whole address from one if so wished', () => {
    const parts = load(
      withStore(`postgres://\${PG_USER}:x@\${PG_HOST}/feedback`),
      environment({ PG_USER: 'ann', PG_HOST: 'db:99' }),
    );
    expect(postgresOf(parts)).toMatchObject({ user: 'ann', host: 'db', port: 99 });
    const whole = load(withStore(`\${FEEDBACK}`), environment({ FEEDBACK: 'postgres://ann:a%40b@db/x' }));
    expect(postgresOf(whole).password?.read()).toBe('a@b');
  });

  it('puts certificates beside the file', () => {
    const config = load(withStore('postgres://ann@db/x?sslrootcert=ca.pem'));
    expect(postgresOf(config).tls.rootCert).toBe(`${config.directory}/ca.pem`);
  });

  it('needs the password only where the store is opened', () => {
    const yaml = withStore(`postgres://ann:\${PG_PASSWORD}@db/x`);
    expect(problemsOf(yaml)).toEqual(['store.feedback: the environment variable PG_PASSWORD is not set']);
    expect(() => postgresOf(load(yaml, { secrets: 'deferred' })).password?.read()).toThrow('PG_PASSWORD is not set');
    expect(problemsOf(yaml, environment({ PG_PASSWORD: '' }))).toEqual([
      'store.feedback: there is no password in the environment variable PG_PASSWORD',
    ]);
  });

  it.each([
    'postgres://ann:hunter2/with@slash@db',
    'postgres://ann:hunter2@db/x?sslmode=maybe',
    'postgres://:hunter2@db/x',
    'postgres://ann:hunter2@db:port/x',
    'postgres://localhost/x?user=ann&password=hunter2',
    'postgres://ann:hunter2#localhost/x',
    'postgresql://localhost/hunter2',
  ])('refuses %s in one line, without the password', (address) => {
    const problems = problemsOf(withStore(address));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^store\.feedback: /);
    expect(problems[0]).not.toMatch(/hunter2|slash/);
  });
});
