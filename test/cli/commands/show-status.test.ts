import { describe, expect, it } from 'vitest';
import { docferry, docferryJson, folderWithConfig } from '../../tools/cli/run-docferry.ts';

describe('docferry status without Temporal', () => {
  it('says in one line what is unknown, and shows the rest', async () => {
    const cwd = await folderWithConfig();
    const shown = await docferry(['status'], { cwd });
    expect(shown.exitCode).toBe(0);
    expect(shown.stderr.match(/warning/g)).toHaveLength(1);
    expect(shown.stderr).toContain('what runs, and when is unknown');
    expect(shown.stdout).toContain('docs.acme.example');
  });

  it('ends with 3 when the feedback store is away too, and with 4 for an unknown organization', async () => {
    const cwd = await folderWithConfig({
      organizations: `  - { id: acme, apiKey: k, sites: [{ domain: docs.acme.example }] }
store: { feedback: "postgres://nobody@127.0.0.1:1/none" }
`,
    });
    const [away, shown, unknown] = await Promise.all([
      docferryJson(['status'], { cwd }),
      docferry(['status'], { cwd }),
      docferry(['status', '--org', 'nobody'], { cwd }),
    ]);
    expect(away.document).toMatchObject({ error: { code: 'TemporalUnreachable' } });
    expect([shown.exitCode, unknown.exitCode]).toEqual([3, 4]);
  });
});
