import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { findFreePort } from '../../src/local/ports.ts';
import { budgetWorkflowId } from '../../src/rules/workflow-ids.ts';
import { inBatches } from '../../src/temporal/runs.ts';
import { folderWithConfig } from '../tools/cli/run-docferry.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';
import { devServerEnvironment, useDevServer } from '../tools/temporal/temporal.ts';

const count = 1_000;
/** A busy machine takes its time: alone it is a minute and a half. */
const patienceMs = 600_000;

/** Processor time of a process so far, in milliseconds (Linux). */
async function processorMs(pid: number | undefined): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

it('a worker of a thousand organizations has told and read every budget soon after its start', {
  timeout: 3 * patienceMs,
}, async () => {
  const environment = await devServerEnvironment();
  onTestFinished(() => environment.teardown());
  const queue = `many-${randomUUID().slice(0, 8)}`;
  const orgs = Array.from({ length: count }, (_, place) => `${queue}-${place}`);
  const lines = orgs.map((id, place) => `  - { id: ${id}, apiKey: k, projects: [{ id: prj_${place} }] }`);
  const cwd = await folderWithConfig({
    address: useDevServer().address,
    taskQueue: queue,
    organizations: `${lines.join('\n')}\n`,
  });
  const port = await findFreePort();
  const began = Date.now();
  const worker = new DocferryProcess(['worker', '--metrics', `127.0.0.1:${port}`], { cwd });
  const endBudgets = () =>
    inBatches(orgs, 16, (org) =>
      environment.client.workflow
        .getHandle(budgetWorkflowId(org))
        .terminate()
        .catch(() => null),
    );
  onTestFinished(async () => {
    await worker.kill('SIGTERM');
    await endBudgets();
  });
  await worker.says('worker: ready');
  const seconds = () => `${((Date.now() - began) / 1_000).toFixed(1)} s`;
  const ready = seconds();

  let slowest = 0;
  const gauges = async (name: string): Promise<string[]> => {
    const asked = performance.now();
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    slowest = Math.max(slowest, performance.now() - asked);
    return text.split('\n').filter((line) => line.startsWith(`${name}{`));
  };
  const limit = async () => (await gauges('docferry_budget_limit')).length;
  await expect.poll(limit, { interval: 500, timeout: patienceMs }).toBe(count);
  const read = seconds();
  const before = { at: Date.now(), processor: await processorMs(worker.child.pid) };
  // Each is read again and again.
  const readAgain = async () => {
    const times = await gauges('docferry_shared_state_read_timestamp_seconds');
    return times.filter((line) => Number(line.split(' ')[1]) * 1_000 > before.at).length;
  };
  await expect.poll(readAgain, { interval: 1_000, timeout: patienceMs }).toBe(count);
  const share = (await processorMs(worker.child.pid)) - before.processor;
  const round = Date.now() - before.at;
  process.stderr.write(
    `  ${count} organizations: ready after ${ready}, all budgets read after ${read}, read again in ${(round / 1_000).toFixed(1)} s with ${((100 * share) / round).toFixed(0)} % of a core; slowest scrape ${slowest.toFixed(0)} ms; told late: ${worker.output.split('has not taken over').length - 1}\n`,
  );
});
