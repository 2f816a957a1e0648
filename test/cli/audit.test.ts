import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeAudit } from '../../src/cli/audit.ts';
import type { CommandContext } from '../../src/cli/context.ts';
import type { Config } from '../../src/config/config.ts';
import { startedExport } from '../../src/runs/rules/own-audit-entries.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';

it("makes no database where the workers' is not, and says that the audit lacks what was done", async () => {
  const file = join(await tempFolder(), 'feedback.db');
  const config = { store: { feedback: { kind: 'sqlite', file } } } as Config;
  const warnings: string[] = [];
  const context = { output: { warn: (text: string) => warnings.push(text) } } as unknown as CommandContext;
  await writeAudit(context, config, {}, startedExport('acme', 'docs.acme.example', 'run-1', {}));
  expect(warnings).toEqual([
    `it is done, but \`docferry audit\` will not show it: feedback store ${file}: this machine has no such file. ` +
      "Run the command where the workers' store is, or start a worker here: it makes the file.",
  ]);
  expect(existsSync(file)).toBe(false);
});
