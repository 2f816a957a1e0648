import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { machineFacts } from '../tools/machine-facts.ts';
import { type StatusSize, statusStage } from './status-stage.ts';

/*
 * How long `docferry status` and `feedback status` take, whole commands, with a bucket for the bundles: npm run bench:status
 * [-- sites …]. Without arguments it writes bench/results/status.md.
 */

const given = process.argv.slice(2).map(Number);
const sizes = given.length > 0 ? given : [100, 1_000];
const looks = 5;
const starter = fileURLToPath(new URL('../../src/starter.js', import.meta.url));

const rows: string[] = [];
let screen = '';
for (const sites of sizes) {
  const size: StatusSize = {
    sites,
    projects: Math.round(sites * 0.3),
    runsPerSite: 365,
    passesPerProject: 2_000,
    running: Math.round(sites * 0.3),
  };
  const stage = await statusStage(size, (text) => void process.stderr.write(`${sites} sites: ${text}\n`));
  if (stage === null) throw new Error('there is no S3 server on this machine');
  try {
    const timed = (...command: string[]) => {
      const began = performance.now();
      const { status, stdout, stderr } = spawnSync(process.execPath, [starter, ...command], {
        cwd: stage.folder,
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      });
      if (status !== 0 || stderr !== '') throw new Error(`${command.join(' ')} failed: ${stderr}`);
      screen = stdout;
      return performance.now() - began;
    };
    const lookedAt = (...command: string[]) => {
      const times = Array.from({ length: looks }, () => timed(...command, '--json')).sort((a, b) => a - b);
      const seconds = (ms = 0) => `${(ms / 1_000).toFixed(2)} s`;
      return `${seconds(times[Math.floor(looks / 2)])} | ${seconds(times.at(-1))}`;
    };
    const both = [lookedAt('status'), lookedAt('feedback', 'status')];
    timed('status', '--failed');
    rows.push(
      `| ${sites.toLocaleString('en')} | ${size.projects} | ${(sites * size.runsPerSite).toLocaleString('en')} | ${(size.projects * size.passesPerProject).toLocaleString('en')} | ${size.running} | ${both.join(' | ')} |`,
    );
  } finally {
    await stage.stop();
  }
}

const page = `# \`docferry status\`

\`npm run bench:status\`, ${machineFacts()}.

Whole commands, their own start included, ${looks} times: a Temporal dev server with a schedule for every site and project and
running exports, a SQLite file with a year of runs, bundles in an S3 server on this machine.

| sites | projects | rows of runs | rows of passes | running | \`status\`: median | slowest | \`feedback status\`: median | slowest |
|---|---|---|---|---|---|---|---|---|
${rows.join('\n')}

The screen of \`status --failed\` at the largest size:

\`\`\`
${screen.trimEnd()}
\`\`\`
`;
if (given.length === 0) await writeFile('bench/results/status.md', page);
process.stdout.write(page);
