import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { badInputPage } from '../../scripts/docs/bad-input-page.ts';
import { commandsPage } from '../../scripts/docs/commands-page.ts';
import { configurationPage } from '../../scripts/docs/configuration-page.ts';
import { interfacePage } from '../../scripts/docs/interface-page.ts';
import { verificationPage } from '../../scripts/docs/verification-page.ts';
import { ruleTexts } from '../../src/bundle/rules/rules.ts';

describe('generated pages are up to date (else run `npm run docs`)', () => {
  it.each([
    ['docs/configuration.md', configurationPage],
    ['docs/commands.md', commandsPage],
    ['docs/interface-coverage.md', interfacePage],
    ['docs/verification.md', verificationPage],
    ['docs/bad-input.md', badInputPage],
  ])('%s', async (file, generate) => {
    expect(await readFile(file, 'utf8')).toBe(await generate());
  });
});

describe('docs/commands.md', () => {
  it('has every command, with its arguments and options', () => {
    const page = commandsPage();
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
    expect(page).toContain('| `incremental` | [schedule](#schedule) |');
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

describe('docs/verification.md', () => {
  it('says of every rule what it refuses and why', () => {
    const lines = verificationPage().split('\n');
    for (const [name, { refuses, why }] of Object.entries(ruleTexts)) {
      const line = lines.find((candidate) => candidate.startsWith(`| \`${name}\` |`));
      expect(line, name).toContain(`| ${refuses} | ${why} |`);
      expect(refuses.length * why.length, name).toBeGreaterThan(0);
    }
  });
});
