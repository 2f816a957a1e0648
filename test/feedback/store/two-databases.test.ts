import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

it('every test file of the feedback whose tests take a store of either kind is run on PostgreSQL too', () => {
  const folder = import.meta.dirname;
  const feedback = resolve(folder, '..');
  const files = readdirSync(feedback, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  );
  const text = (name: string) => readFileSync(join(feedback, name), 'utf8');
  const onPostgres = files
    .filter((name) => name.endsWith('-on-postgres.test.ts'))
    .flatMap((name) => [...text(name).matchAll(/import\('(\..+)'\)/g)])
    .map(([, file = '']) => relative(feedback, resolve(folder, file)));
  const ofEither = files.filter((name) => /import[^;]*\btemporaryStore\b/.test(text(name)));
  expect(ofEither.length).toBeGreaterThan(10);
  expect(onPostgres).toEqual(expect.arrayContaining(ofEither));
});
