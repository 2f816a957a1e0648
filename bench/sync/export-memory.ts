import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { DocferryProcess } from '../../test/tools/docferry-process.ts';
import { startBenchPostgres } from '../tools/bench-postgres.ts';
import type { Track } from '../tools/track.ts';
import { fillPostgres, fillSqlite } from './filled-table.ts';
import { peakFileVariable } from './report-peak.ts';

export const exportFormats = ['jsonl', 'csv', 'parquet'] as const;
type ExportFormat = (typeof exportFormats)[number];

interface ExportFigures {
  store: string;
  entries: number;
  format: ExportFormat;
  seconds: number;
  /** Of the file. */
  bytes: number;
  peak: number;
}

export interface ExportMemory {
  store: string;
  /** Peak of an export of a project without entries, in bytes: the program itself. */
  idle: Record<ExportFormat, number>;
  figures: ExportFigures[];
}

const reportPeak = new URL('report-peak.js', import.meta.url).href;
const documentSchema = z.object({ rows: z.number(), bytes: z.number() });

/** Memory and time of `feedback export`, each a process of its own; null where the database is not installed. */
export async function measureExports(
  store: 'SQLite' | 'PostgreSQL',
  sizes: readonly number[],
  { say, track }: { say: (text: string) => void; track: Track },
): Promise<ExportMemory | null> {
  const postgres = store === 'PostgreSQL' ? await startBenchPostgres(track) : null;
  if (store === 'PostgreSQL' && postgres === null) return null;
  const folder = await mkdtemp(join(tmpdir(), 'docferry-bench-'));
  try {
    const place = postgres === null ? 'sqlite:./feedback.db' : postgres.url;
    await writeFile(join(folder, 'docferry.yaml'), configuration(place));
    const measured: ExportMemory = { store, idle: { jsonl: 0, csv: 0, parquet: 0 }, figures: [] };
    // The first one also makes the tables.
    for (const format of exportFormats) measured.idle[format] = (await exported(folder, format, 0)).peak;
    for (const entries of sizes) {
      say(`exports: ${entries} entries in ${store} …`);
      if (postgres === null) fillSqlite(join(folder, 'feedback.db'), entries);
      else await fillPostgres(postgres.url, entries);
      for (const format of exportFormats) {
        measured.figures.push({ store, entries, format, ...(await exported(folder, format, entries)) });
      }
    }
    return measured;
  } finally {
    await rm(folder, { recursive: true, force: true });
    await postgres?.stop();
  }
}

function configuration(store: string): string {
  return `temporal: { address: "127.0.0.1:1" }
service: { baseUrl: "http://127.0.0.1:9" }
organizations: [{ id: acme, apiKey: k, projects: [{ id: prj_1 }] }]
store: { feedback: "${store}" }
`;
}

/** Runs one export; throws when it did not write every entry. */
async function exported(
  cwd: string,
  format: ExportFormat,
  entries: number,
): Promise<Pick<ExportFigures, 'seconds' | 'bytes' | 'peak'>> {
  const peakFile = join(cwd, 'peak');
  const out = join(cwd, `out.${format}`);
  const env = { NODE_OPTIONS: `--import ${reportPeak}`, [peakFileVariable]: peakFile };
  const begun = performance.now();
  const command = new DocferryProcess(['feedback', 'export', '--format', format, '--out', out, '--json'], { cwd, env });
  if ((await command.ended()) !== 0) throw new Error(`the export failed:\n${command.output}`);
  const seconds = (performance.now() - begun) / 1_000;
  const { rows, bytes } = documentSchema.parse(JSON.parse(command.stdout));
  if (rows !== entries || (await stat(out)).size !== bytes)
    throw new Error(`${rows} of ${entries} entries were written`);
  await rm(out);
  return { seconds, bytes, peak: Number(await readFile(peakFile, 'utf8')) };
}
