import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { commandsPage } from '../../scripts/docs/commands-page.ts';
import { configurationPage } from '../../scripts/docs/configuration-page.ts';
import { rulesPage } from '../../scripts/docs/rules-page.ts';

describe('generated pages are up to date (else run `npm run docs`)', () => {
  it.each([
    ['docs/configuration.md', configurationPage],
    ['docs/commands.md', commandsPage],
    ['docs/rules.md', rulesPage],
  ])('%s', async (file, generate) => {
    expect(await readFile(file, 'utf8')).toBe(await generate());
  });
});

describe('docs/commands.md', () => {
  it('has every command, with its arguments and options', async () => {
    const page = await commandsPage();
    for (const text of [
      '## docferry feedback export\n',
      '`--formula-safe`',
      'docferry feedback export [options] [project]',
      'Exit codes: 0 done',
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain('## docferry feedback\n');
  });
});

describe('docs/configuration.md', () => {
  it('says type, default and meaning of a field, and which are required', () => {
    const page = configurationPage();
    expect(page).toContain('| `window` | duration from 100ms to 31d | `1h` | Length of the sliding window. |');
    expect(page).toContain('| `baseUrl` | http(s) address | required |');
    expect(page).toContain('| `schedule` | [schedule](#schedule) |');
    expect(page.split('## `schedule`')).toHaveLength(2);
  });

  it('leaves no meaning empty', () => {
    const rows = configurationPage()
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    expect(rows.length).toBeGreaterThan(40);
    expect(rows.filter((line) => /\|\s*\|$/.test(line))).toEqual([]);
  });
});
