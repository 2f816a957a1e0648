import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cutTable, freeTable, limitedTable, memoryTable } from './download-tables.ts';
import { startNginx } from './nginx-source.ts';
import { pollingTable } from './polling.ts';

/*
 * The rows "polling", "download" and "verify" of bench/README.md: npm run bench:bundle [-- --only download --runs 5 --quick]
 * Writes bench/results/bundle.md; parts that are not run stay as they are there.
 */

const repository = new URL('../../../', import.meta.url);
const result = new URL('bench/results/bundle.md', repository);
const verify = fileURLToPath(new URL('./verify.js', import.meta.url));
const allParts = ['polling', 'download', 'verify'] as const;
type Part = (typeof allParts)[number];

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [...allParts] },
    runs: { type: 'string', default: '3' },
    quick: { type: 'boolean', default: false },
    folder: { type: 'string', default: join(tmpdir(), 'docferry-bench') },
  },
});
const unknown = values.only.find((name) => !allParts.some((part) => part === name));
if (unknown !== undefined) throw new Error(`--only ${unknown}: allowed are ${allParts.join(', ')}`);

const makers: Record<Part, () => Promise<string[]>> = {
  polling: async () => [pollingTable().trimEnd()],
  download,
  verify: async () => {
    const { status, stdout } = spawnSync(process.execPath, [verify, '--runs', values.runs, '--folder', values.folder], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0) throw new Error(`bench/bundle/verify.js ended with ${status}`);
    // Its title and headings, one level lower.
    return [
      stdout
        .replace(/^# .*\n+/, '')
        .replaceAll(/^## /gm, '### ')
        .trimEnd(),
    ];
  },
};

const made = await earlier();
for (const part of allParts) {
  if (!values.only.includes(part)) continue;
  process.stderr.write(`${part}\n`);
  made.set(part, (await makers[part]()).join('\n'));
}
const page = [
  '# Bundles: polling, download, verification',
  '',
  'Made by `npm run bench:bundle`; each part says where and how. The figures to reach are in bench/README.md.',
  ...allParts.flatMap((part) => (made.has(part) ? ['', `## ${part}`, '', made.get(part) ?? ''] : [])),
  '',
].join('\n');
await mkdir(new URL('.', result), { recursive: true });
await writeFile(result, page);
process.stdout.write(page);

async function download(): Promise<string[]> {
  await mkdir(values.folder, { recursive: true });
  const source = await startNginx(values.folder);
  if (!source) throw new Error('the source of these rows is nginx: install it (Debian: nginx-light)');
  const options = { folder: values.folder, source, runs: Number(values.runs), quick: values.quick };
  try {
    const tables = [];
    for (const table of [freeTable, limitedTable, memoryTable, cutTable]) tables.push('', ...(await table(options)));
    const [busy] = loadavg();
    return [
      `\`npm run bench:bundle -- --only download --runs ${values.runs}${values.quick ? ' --quick' : ''}\` on ${cpus().length} processors`,
      `(${cpus()[0]?.model.trim()}), load average ${busy?.toFixed(1)} at the end. docferry is measured from the call to the`,
      'digest, in a process that runs already, as a worker is; the others with their start.',
      ...tables,
    ];
  } finally {
    await source.stop();
  }
}

/** The parts of the page that is there. */
async function earlier(): Promise<Map<string, string>> {
  const text = await readFile(result, 'utf8').catch(() => '');
  const parts = text.split(/^## /m).slice(1);
  return new Map(
    parts.map((part) => {
      const [name = '', ...lines] = part.split('\n');
      return [name, lines.join('\n').trim()];
    }),
  );
}
