import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { startSandbox } from '../../sandbox/index.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { DocferryProcess } from '../../test/tools/docferry-process.ts';
import { startReceiver, webhookSecret } from '../../test/tools/servers/webhook-receiver.ts';
import { machineFacts } from '../tools/machine-facts.ts';
import { fleetHistories } from './fleet-histories.ts';
import { apiKeyOf } from './fleet-size.ts';

/*
 * What an hour of `docferry up` costs with 100 projects in 10 organizations: npm run bench:up [-- --minutes 60].
 * `--docferry FILE` measures the starter of another build; `--organization` and `--project` are what its configuration
 * says of each, as YAML. A reader's minute brings two new entries and a change of status in each organization.
 */

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    settle: { type: 'string', default: '5' },
    docferry: { type: 'string', default: 'dist/src/starter.js' },
    organization: { type: 'string', default: 'refresh: { every: 5m, share: 50% }' },
    project: { type: 'string', default: '' },
  },
});
const starter = resolve(values.docferry);
const organizations = Array.from({ length: 10 }, (_, org) => ({
  id: `org-${org}`,
  apiKey: apiKeyOf(`org-${org}`),
  projects: Array.from({ length: 10 }, (_, n) => ({ id: `prj_${org}_${n}`, entries: 200 })),
  domains: [],
}));
const minuteMs = 60_000;

const folder = await mkdtemp(join(tmpdir(), 'docferry-up-hour-'));
const sandbox = await startSandbox({ requests: 100, organizations });
const receiver = await startReceiver();
const [port, ui, bundles] = [await findFreePort(), await findFreePort(), await findFreePort()];
await writeFile(join(folder, 'docferry.yaml'), configuration());
const up = new DocferryProcess(['up', '--port', `${port}`, '--ui-port', `${ui}`, '--bundle-port', `${bundles}`], {
  cwd: folder,
  program: starter,
});
try {
  await up.says('docferry: ready');
  await pass(Number(values.settle));
  const [since, requests] = [new Date(), sandbox.log().length];
  receiver.received.length = 0;
  await pass(Number(values.minutes));
  process.stdout.write(await report(since, sandbox.log().length - requests));
} finally {
  await up.kill('SIGTERM');
  await receiver.stop();
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

function configuration(): string {
  const listed = organizations.map(
    ({ id, apiKey, projects }) => `  - id: ${id}
    apiKey: ${apiKey}
    webhooks: [{ name: all, url: "${receiver.url}", secret: ${webhookSecret} }]
    ${values.organization}
    projects: [${projects.map((project) => `{ ${[`id: ${project.id}`, values.project].filter(Boolean).join(', ')} }`).join(', ')}]`,
  );
  return `temporal: { address: "127.0.0.1:${port}" }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
organizations:
${listed.join('\n')}
`;
}

/** So many minutes, in each of which something happens at the service. */
async function pass(minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    for (const { projects } of organizations) {
      const id = projects[minute % projects.length]?.id ?? '';
      const [added = ''] = sandbox.addEntries(id, { count: 2 });
      if (minute % 2 === 0) sandbox.changeEntries(id, [{ id: added, status: 'resolved' }]);
    }
    await sleep(minuteMs);
    if (up.child.exitCode !== null || up.child.signalCode !== null) throw new Error(`up has ended:\n${up.output}`);
  }
}

async function report(since: Date, requests: number): Promise<string> {
  const client = new Client({ connection: await Connection.connect({ address: `127.0.0.1:${port}` }) });
  const rows: string[] = [];
  let [runs, actions] = [0, 0];
  try {
    let schedules = 0;
    for await (const _ of client.schedule.list()) schedules += 1;
    const types = new Set<string>();
    for await (const run of client.workflow.list()) types.add(run.type);
    for (const type of [...types].sort()) {
      const histories = await fleetHistories(client, type, since);
      runs += histories.runs;
      actions += histories.actions;
      rows.push(`| runs of \`${type}\` (actions) | ${histories.runs} (${histories.actions}) |`);
    }
    rows.unshift(`| schedules | ${schedules} |`);
  } finally {
    await client.connection.close();
  }
  const told = new Map<string, number>();
  for (const { body } of receiver.received) {
    const { type } = JSON.parse(body) as { type: string };
    told.set(type, (told.get(type) ?? 0) + 1);
  }
  const kinds = [...told].map(([type, count]) => `${count} ${type}`).join(', ');
  rows.push(`| workflows in all (actions) | ${runs} (${actions}) |`);
  rows.push(`| webhooks | ${receiver.received.length}${kinds === '' ? '' : `: ${kinds}`} |`);
  rows.push(`| requests of the service | ${requests} |`);
  for (const command of [['status'], ['feedback', 'status'], ['schedules', 'list']]) {
    rows.push(`| lines of \`${command.join(' ')}\` | ${linesOf(command)} |`);
  }
  const what = [values.organization, values.project].filter(Boolean).join('; ');
  return `${values.minutes} minutes after ${values.settle}, \`${what}\`; ${machineFacts()}.\n\n| | |\n|---|---|\n${rows.join('\n')}\n`;
}

function linesOf(command: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [starter, ...command], {
    cwd: folder,
    encoding: 'utf8',
  });
  return status === 0 ? `${stdout.trimEnd().split('\n').length}` : `failed: ${stderr.split('\n')[0]}`;
}
