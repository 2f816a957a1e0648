import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';

/** What the sources take from inside Temporal's packages, which promise nothing of it: by module, the names. */
function deepImports(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  for (const file of files) {
    const text = readFileSync(`src/${file}`, 'utf8');
    for (const [, names = '', module = ''] of text.matchAll(
      /import \{([^}]+)\} from '(@temporalio\/\w+\/lib\/[^']+)'/g,
    )) {
      const known = found.get(module) ?? new Set();
      for (const name of names.split(',')) if (!name.trim().startsWith('type ')) known.add(name.trim());
      found.set(module, known);
    }
  }
  return found;
}

it('a version of the SDK without what the sources take from inside it is found here, by name', async () => {
  const { version } = createRequire(import.meta.url)('@temporalio/common/package.json');
  const imports = deepImports();
  expect([...imports.keys()].sort()).toEqual([
    '@temporalio/common/lib/internal-non-workflow/index.js',
    '@temporalio/common/lib/time.js',
    '@temporalio/workflow/lib/global-attributes.js',
  ]);
  for (const [module, names] of imports) {
    const loaded = await import(module);
    const missing = [...names].filter((name) => name !== '' && typeof loaded[name] !== 'function');
    expect(missing, `${module} of version ${version} lacks them`).toEqual([]);
  }
});
