import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Output } from '../../src/cli/context.ts';
import { applySchedulesAtStart } from '../../src/cli/embedded.ts';
import { loadConfig } from '../../src/config/load.ts';
import { applySchedules } from '../../src/schedules/schedules.ts';
import { folderWithConfig } from '../tools/cli/run-docferry.ts';
import { silentProxy } from '../tools/proxies/silent-proxy.ts';
import { devServerEnvironment, useDevServer } from '../tools/temporal/temporal.ts';

describe('the schedules that `up` applies', () => {
  it('do not stop it when Temporal leaves a call unanswered, and are applied later', async () => {
    const env = await devServerEnvironment();
    onTestFinished(() => env.teardown());
    const org = `org-${randomUUID().slice(0, 8)}`;
    const lost = `export:${org}:one.example`;
    // All attempts of the first round are lost.
    let left = 3;
    const proxy = await silentProxy(useDevServer().address, (method, _, request) => {
      if (method !== 'DescribeSchedule' || !request.includes(lost) || left === 0) return false;
      left -= 1;
      return true;
    });
    const site = (domain: string) => `{ domain: ${domain}, schedule: { every: 7d } }`;
    const organizations = `  - id: ${org}
    apiKey: dk_admin_${org}
    sites: [${site('one.example')}, ${site('two.example')}]
`;
    const cwd = await folderWithConfig({ address: proxy.address, taskQueue: org, organizations });
    const config = await loadConfig({ env: {}, cwd, secrets: 'deferred' });
    onTestFinished(async () => void (await applySchedules(env.client, org, [], 'fast')));
    let said = '';
    const write = (text: string | Uint8Array) => {
      said += String(text);
    };
    const stream = { write };
    const output = new Output({ json: false, quiet: false, color: false, env: {}, stdout: stream, stderr: stream });

    const part = await applySchedulesAtStart(output, config, 200);
    expect(said).toMatch(
      /schedules: 1 created, 0 updated, 0 deleted;.*\n.*exports: 1 site\n[\s\S]*warning: Temporal did not answer for all schedules/,
    );
    await expect.poll(() => said).toContain('all schedules are applied now');
    await part.stop();
    const ids = [`docferry:${org}:export:${org}:one.example`, `docferry:${org}:export:${org}:two.example`];
    for (const id of ids) expect((await env.client.schedule.getHandle(id).describe()).scheduleId).toBe(id);
  });
});
