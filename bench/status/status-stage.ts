import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { openBundleStore } from '../../src/exports/store/open-bundle-store.ts';
import { openFeedbackStore } from '../../src/feedback/store/open-feedback-store.ts';
import { devServerTool, resolveBinary } from '../../src/local/binaries.ts';
import { startDevServer } from '../../src/local/dev-server.ts';
import { findFreePort } from '../../src/local/ports.ts';
import { startExport } from '../../src/operations/exports.ts';
import { searchAttributes } from '../../src/rules/workflow-ids.ts';
import { applySchedules } from '../../src/schedules/schedules.ts';
import { Database } from '../../src/sqlite.ts';
import { connectClient } from '../../src/temporal/connection.ts';
import { inBatches } from '../../src/temporal/runs.ts';
import { s3ServerProgram, startS3Server } from '../../test/tools/servers/s3-server.ts';

/** How much there is of everything. */
export interface StatusSize {
  sites: number;
  projects: number;
  runsPerSite: number;
  passesPerProject: number;
  /** Exports that run, without a worker. */
  running: number;
}

interface StatusStage {
  folder: string;
  stop(): Promise<void>;
}

const organizations = 20;
const atOnce = 16;
const version = '20261121T040200Z-3f9a2c1b8e7d';

/** A Temporal server, an S3 server and a SQLite file with the history of many sites; null without an S3 server. */
export async function statusStage(size: StatusSize, say: (text: string) => void): Promise<StatusStage | null> {
  const program = await s3ServerProgram();
  if (program === null) return null;
  const folder = await mkdtemp(join(tmpdir(), 'docferry-bench-status-'));
  const temporal = await startDevServer({
    binary: (await resolveBinary(devServerTool)).path,
    port: await findFreePort(),
    searchAttributes: Object.values(searchAttributes),
    logFile: join(folder, 'temporal.log'),
  });
  const s3 = await startS3Server(program);
  const stop = async () => {
    await temporal.stop();
    await s3.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const bundles = `{ s3: { bucket: ${s3.bucket}, prefix: fleet, endpoint: "${s3.endpoint}", region: us-east-1 }, publicUrl: "http://localhost:8090" }`;
    const file = join(folder, 'docferry.yaml');
    await mkdir(join(folder, 'data'));
    await writeFile(file, configText(size, temporal.address, bundles));
    const config = await loadConfig({ file, env: {}, cwd: folder, secrets: 'deferred' });
    await (await openFeedbackStore(config.store.feedback)).close();
    if (config.store.feedback.kind === 'sqlite') fillHistory(config.store.feedback.file, size);
    const client = await connectClient(config.temporal);
    try {
      say('schedules and running exports …');
      const { taskQueue } = config.temporal;
      await applySchedules(client, taskQueue, config.organizations, 'fast');
      const sites = config.organizations.flatMap(({ id, sites }) => sites.map(({ domain }) => ({ org: id, domain })));
      await inBatches(sites.slice(0, size.running), atOnce, (site) =>
        startExport(client, taskQueue, { ...site, parameters: {} }, 'join'),
      );
      say('marks in the bucket …');
      // Opened once, so that the bucket is one of ours.
      await openBundleStore(config.store.bundles);
      const { S3Bucket } = await import('../../src/exports/store/s3-bucket.ts');
      const { S3Marks } = await import('../../src/exports/store/s3-records.ts');
      const marks = new S3Marks(
        new S3Bucket({ bucket: s3.bucket, prefix: 'fleet', endpoint: s3.endpoint, region: 'us-east-1' }),
      );
      await inBatches(sites, atOnce, ({ domain }) =>
        marks.current(domain, { version, contentDigest: '', publishedAt: '', epoch: 1 }),
      );
    } finally {
      await client.connection.close();
    }
    return { folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configText({ sites, projects }: StatusSize, address: string, bundles: string): string {
  const orgs = Array.from({ length: organizations }, (_, org) => {
    const mine = (count: number) => Array.from({ length: count }, (_, n) => n).filter((n) => n % organizations === org);
    const siteLines = mine(sites).map((n) => `      - { domain: docs${n}.acme.example, schedule: { every: 1d } }`);
    const projectLines = mine(projects).map((n) => `      - { id: prj_${n} }`);
    return `  - id: org-${org}\n    apiKey: k\n    refresh: { every: 1h }\n    sites:\n${siteLines.join('\n')}\n    projects:\n${projectLines.join('\n')}`;
  });
  return `temporal: { address: "${address}" }
service: { baseUrl: "http://127.0.0.1:9" }
organizations:
${orgs.join('\n')}
store: { bundles: ${bundles} }
`;
}

/** Rows of runs and passes made by the database itself; every fiftieth fails. */
function fillHistory(file: string, { sites, projects, runsPerSite, passesPerProject }: StatusSize): void {
  const db = new Database(file);
  const moment = (n: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000 + ${n} * 3600, 'unixepoch')`;
  const both = (outer: number, inner: number) =>
    `with recursive a(i) as (select 0 union all select i + 1 from a where i < ${outer - 1}),
     b(j) as (select 0 union all select j + 1 from b where j < ${inner - 1})`;
  db.exec(`insert into export_runs (workflow_id, run_id, org_id, domain, started_at, finished_at, outcome, jobs_started,
      version, polls, detail)
    ${both(sites, runsPerSite)}
    select 'export:org-' || (i % ${organizations}) || ':docs' || i || '.acme.example', 'run-' || i || '-' || j,
      'org-' || (i % ${organizations}), 'docs' || i || '.acme.example', ${moment('j')}, ${moment('j')},
      case when i % 50 = 0 and j > ${runsPerSite - 5} then 'failed' else 'published' end, 1, '${version}', 3, '{}'
    from a, b`);
  db.exec(`insert into sync_passes (pass_id, org_id, project_id, pass, workflow_id, run_id, started_at, finished_at, outcome)
    ${both(projects, passesPerProject)}
    select 'pass-' || i || '-' || j, 'org-' || (i % ${organizations}), 'prj_' || i,
      case when j % 600 = 0 then 'sweep' else 'incremental' end, 'w', 'r' || j, ${moment('j')}, ${moment('j')}, 'completed'
    from a, b`);
  db.exec(`insert into verified_ranges (org_id, project_id, place, undated, verified_up_to)
    select distinct org_id, project_id, 0, 1, '2026-11-21T04:02:00.000Z' from sync_passes`);
  db.close();
}
