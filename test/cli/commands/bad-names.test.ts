import { describe, expect, it } from 'vitest';
import { docferryJson, folderWithConfig } from '../../tools/cli/run-docferry.ts';

describe('names that are not configured', () => {
  it('are exit code 4, with the configured ones as a hint', async () => {
    const cwd = await folderWithConfig();
    const unknown: [args: string[], code: string, known: string][] = [
      [['export', 'start', 'docs.other.example'], 'UnknownDomain', 'docs.acme.example'],
      [['export', 'status', 'docs.other.example'], 'UnknownDomain', 'docs.acme.example'],
      [['export', 'versions', 'docs.other.example'], 'UnknownDomain', 'docs.acme.example'],
      [['feedback', 'sync', 'prj_9'], 'UnknownProject', 'acme/prj_1'],
      [['feedback', 'status', 'prj_9'], 'UnknownProject', 'acme/prj_1'],
      [['budget', 'show', 'umbrella'], 'UnknownOrganization', 'acme'],
    ];
    const runs = await Promise.all(unknown.map(([args]) => docferryJson(args, { cwd })));
    for (const [index, { exitCode, document }] of runs.entries()) {
      const [, code, known = ''] = unknown[index] ?? [];
      expect(exitCode).toBe(4);
      expect(document).toEqual({
        error: { code, message: expect.any(String), hint: expect.stringContaining(known) },
      });
    }
  });

  it('may include their organization', async () => {
    const cwd = await folderWithConfig();
    const [right, wrong] = await Promise.all(
      ['acme/prj_1', 'umbrella/prj_1'].map((project) => docferryJson(['feedback', 'status', project], { cwd })),
    );
    expect(right?.document).toHaveProperty('error.code', 'TemporalUnreachable');
    expect(wrong?.document).toHaveProperty('error.code', 'UnknownProject');
  });

  it('are required where there are several', async () => {
    const organization = (id: string) => `  - { id: ${id}, apiKey: dk_admin_${id} }\n`;
    const cwd = await folderWithConfig({ organizations: organization('one') + organization('two') });
    const { exitCode, document } = await docferryJson(['budget', 'pause'], { cwd });
    expect(exitCode).toBe(2);
    expect(document).toHaveProperty('error.hint', expect.stringContaining('one, two'));
  });
});

describe('flags with impossible values', () => {
  it('are named, with exit code 2', async () => {
    const cwd = await folderWithConfig();
    const wrong: [args: string[], named: string][] = [
      [['feedback', 'sync', 'prj_1', '--plan', '--wait'], '--plan starts nothing'],
      [['feedback', 'sync', 'prj_1', '--from', 'yesterday'], '--from is "yesterday"'],
      [['feedback', 'sync', 'prj_1', '--from', '2026-03-02', '--to', '2026-03-01'], '--to is "2026-03-01"'],
      [['feedback', 'sync', 'prj_1', '--wait', '--timeout', '30'], '--timeout is "30"'],
      [['export', 'start', 'docs.acme.example', '--timeout', '30m'], '--wait'],
    ];
    const runs = await Promise.all(wrong.map(([args]) => docferryJson(args, { cwd })));
    for (const [index, { exitCode, document }] of runs.entries()) {
      expect(exitCode).toBe(2);
      expect(document).toHaveProperty('error.message', expect.stringContaining(wrong[index]?.[1] ?? ''));
    }
  });
});

describe('a Temporal that does not answer', () => {
  it('is exit code 3 with its address and the next step', async () => {
    const cwd = await folderWithConfig();
    const commands = [
      ['export', 'start', 'docs.acme.example', '--wait'],
      ['export', 'status', 'docs.acme.example'],
      ['feedback', 'sync', 'prj_1'],
      ['budget', 'show'],
    ];
    const runs = await Promise.all(commands.map((args) => docferryJson(args, { cwd })));
    for (const { exitCode, document } of runs) {
      expect(exitCode).toBe(3);
      expect(document).toEqual({
        error: {
          code: 'TemporalUnreachable',
          message: expect.stringContaining('127.0.0.1:1'),
          hint: expect.stringContaining('docferry up'),
        },
      });
    }
  });
});
