import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRandom, pick, type Random } from '../../sandbox/random.ts';
import { openSqliteFeedbackStore } from '../../src/feedback/store/sqlite-store.ts';
import { Database } from '../../src/sqlite.ts';

/**
 * What `feedback report` costs: `npm run bench:report -- [entries …]`. Processor time, because other programs on the
 * machine do not change it much; both figures are those of the whole command.
 */
const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10_000, 250_000];

const starter = fileURLToPath(new URL('../../src/starter.js', import.meta.url));
const config = `service: { baseUrl: "http://127.0.0.1:9" }
organizations: [{ id: acme, apiKey: k, projects: [{ id: prj_1 }] }]
`;
const atExit = `process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  process.stderr.write('spent ' + (userCPUTime + systemCPUTime) / 1e6 + ' ' + maxRSS / 1024);
});`;
const dayMs = 86_400_000;

process.stdout.write('| entries | processor time | most memory | page |\n|---|---|---|---|\n');
for (const entries of sizes) process.stdout.write(await lineOf(entries));

async function lineOf(entries: number): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), 'docferry-bench-report-'));
  try {
    const hook = join(cwd, 'at-exit.cjs');
    await writeFile(hook, atExit);
    await writeFile(join(cwd, 'docferry.yaml'), config);
    await mkdir(join(cwd, 'data'));
    const file = join(cwd, 'data/feedback.db');
    await (await openSqliteFeedbackStore(file)).close();
    fill(file, entries, createRandom(1));
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--require', hook, starter, 'feedback', 'report', '--out', 'report.html'],
      { cwd, encoding: 'utf8' },
    );
    const [, seconds, mebibytes] = /spent (\S+) (\S+)$/.exec(stderr) ?? [];
    if (status !== 0 || seconds === undefined) throw new Error(`the report failed: ${stderr}`);
    const { size } = await stat(join(cwd, 'report.html'));
    const figures = [
      `${Number(seconds).toFixed(1)} s`,
      `${Math.round(Number(mebibytes))} MiB`,
      `${Math.round(size / 1024)} KiB`,
    ];
    return `| ${entries.toLocaleString('en')} | ${figures.join(' | ')} |\n`;
  } finally {
    await rm(cwd, { recursive: true });
  }
}

/** Entries of 700 days on some 2,000 pages, most of them closed within ten days. */
function fill(file: string, entries: number, random: Random): void {
  const db = new Database(file);
  const insert = db.prepare(`insert into feedback
    (org_id, project_id, id, path, comment, created_at, created_at_utc, source, status, helpful, first_seen_at, last_seen_at)
    values ('acme', 'prj_1', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const change = db.prepare(`insert into feedback_changes (project_id, id, field, old, new, seen_at)
    values ('prj_1', ?, 'status', 'pending', ?, ?)`);
  const now = Date.now();
  db.exec('begin');
  for (let number = 0; number < entries; number++) {
    const id = `fb_${number}`;
    const at = now - random() * 700 * dayMs;
    const created = new Date(at).toISOString();
    const source = pick(random, ['contextual', 'agent', 'thumbs_only', 'code_snippet']);
    const status = pick(random, ['pending', 'resolved', 'resolved', 'resolved', 'dismissed', 'dismissed']);
    const said = `Comment ${number}: ${'the example of this page fails for me. '.repeat(1 + Math.floor(random() * 8))}`;
    const comment = random() < 0.6 ? said : null;
    const helpful = source === 'contextual' ? Number(random() < 0.64) : null;
    const path = `/guides/page-${Math.floor(random() * random() * 2_000)}`;
    insert.run(id, path, comment, created, created, source, status, helpful, created, created);
    if (status !== 'pending') change.run(id, status, new Date(at + random() * 10 * dayMs).toISOString());
  }
  db.exec('commit');
  db.close();
}
