import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('every test file whose tests take a store of either kind is run on PostgreSQL too', () => {
  const folder = import.meta.dirname;
  const text = (name: string) => readFileSync(join(folder, name), 'utf8');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.ts'));
  const onPostgres = files
    .filter((name) => name.endsWith('-on-postgres.test.ts'))
    .flatMap((name) => [...text(name).matchAll(/import\('\.\/(.+)'\)/g)].map(([, file]) => file));
  const ofEither = files.filter((name) => /\btemporaryStore\b/.test(text(name)) && name !== 'two-databases.test.ts');
  expect(onPostgres.sort()).toEqual(ofEither.sort());
});
