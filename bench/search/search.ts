import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastWeeks } from '../../src/feedback/rules/report-figures.ts';
import type { FoundTotal, SearchQuery } from '../../src/feedback/search/feedback-search.ts';
import type { FeedbackTable } from '../../src/feedback/store/tables.ts';
import { machineFacts } from '../tools/machine-facts.ts';
import { newest, searchCorpus } from './search-corpus.ts';
import { type AskedFor, mixedQueries } from './search-queries.ts';
import { openPostgresBench, openSqliteBench, type SearchBench } from './search-stores.ts';

/*
 * What a search over feedback costs on both databases: npm run bench:search [-- entries [sqlite|postgres]]. Without arguments
 * it writes bench/results/search.md.
 */

const [givenEntries, only] = process.argv.slice(2);
const entries = givenEntries === undefined ? 1_000_000 : Number(givenEntries);
const rounds = 15;
const pages = 50;
const perPage = 100;

interface Line {
  name: string;
  hits: string;
  times: number[];
  like: number | null;
}

const folder = await mkdtemp(join(tmpdir(), 'docferry-bench-search-'));
const opened: SearchBench[] = [];
const sections: string[] = [];
try {
  if (only !== 'postgres') opened.push(await openSqliteBench(join(folder, 'feedback.db')));
  if (only !== 'sqlite') {
    const postgres = await openPostgresBench();
    if (postgres === null) throw new Error('PostgreSQL is not installed');
    opened.push(postgres);
  }
  for (const bench of opened) sections.push(await measure(bench));
} finally {
  for (const bench of opened) await bench.close();
  await rm(folder, { recursive: true, force: true });
}

const page = `# Feedback search

\`npm run bench:search\`, ${machineFacts()}.

${entries.toLocaleString('en')} entries of 20 projects over 1,000 days: 7 of 10 with a comment of 4 to 33 words out of 40,000, as unevenly
common as in a language, a tenth of these Chinese or Japanese; 1 of 10 with code. Each search ${rounds} times, in turn: 50 entries with
their texts and marks, and how many there are (exact up to 1,000; by document the newest 10,000 hits). Beside it the same 50 by \`LIKE\` on \`feedback\`, without a
count, once.

${sections.join('\n\n')}
`;
if (givenEntries === undefined) await writeFile('bench/results/search.md', page);
process.stdout.write(page);

async function measure(bench: SearchBench): Promise<string> {
  const note = (text: string) => process.stderr.write(`${bench.name}: ${text}\n`);
  note('filling');
  await bench.fill(searchCorpus(entries));
  note('building the index');
  const builtIn = await timed(async () => {
    while (!(await bench.store.indexMore()).complete);
  });
  note(`built in ${(builtIn / 1000).toFixed(1)} s; searching`);
  await bench.settle();
  const size = await bench.indexBytes();
  const lines: Line[] = mixedQueries().map((asked) => ({ name: asked.name, hits: '', times: [], like: null }));
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, asked] of mixedQueries().entries()) await search(bench, asked, lines[index]);
  }
  for (const [index, asked] of mixedQueries().entries()) {
    const line = lines[index];
    if (line !== undefined && asked.like !== null) line.like = await timed(() => bench.like(asked));
  }
  note('adding pages');
  const page = await costOfPages(bench);
  const changed = await costOfChanges(bench);
  const all = lines.flatMap(({ times }) => times);
  const rows = lines.map(
    ({ name, hits, times, like }) =>
      `| ${name} | ${hits} | ${ms(quantile(times, 0.5))} | ${ms(quantile(times, 0.95))} | ${like === null ? '' : ms(like)} |`,
  );
  return `## ${bench.name}

All searches: median ${ms(quantile(all, 0.5))}, p95 ${ms(quantile(all, 0.95))}, slowest ${ms(Math.max(...all))}.

| search | hits | median | p95 | \`LIKE\` |
|---|---|---|---|---|
${rows.join('\n')}

The index: ${Math.round(size.index / 2 ** 20)} MiB beside ${Math.round(size.feedback / 2 ** 20)} MiB of \`feedback\` with its indexes; built in ${(builtIn / 1000).toFixed(0)} s
(${Math.round((builtIn / entries) * 1e3)} µs an entry). A page of ${perPage} new entries takes ${ms(page.whole)}, of which ${ms(page.index)} for the index; one of
${perPage} entries whose comments have changed ${ms(changed)}.`;
}

async function search({ store }: SearchBench, { query, shown }: AskedFor, line: Line | undefined): Promise<void> {
  const began = performance.now();
  const total = await searched(store, query, shown);
  line?.times.push(performance.now() - began);
  if (line !== undefined) line.hits = `${total.count.toLocaleString('en')}${total.isExact ? '' : '+'}`;
}

async function searched(
  store: SearchBench['store'],
  query: SearchQuery,
  shown: AskedFor['shown'],
): Promise<FoundTotal> {
  if (shown === 'documents') return (await store.findDocuments(query)).total;
  if (shown !== 'trend') return (await store.findEntries(query)).total;
  const trend = await store.findTrend(query, lastWeeks(12, new Date(newest)));
  return { count: trend.reduce((sum, { yes, no, comments }) => sum + yes + no + comments, 0), isExact: true };
}

/** Medians over pages of new entries, of a whole page and of what the index is of it. */
async function costOfPages(bench: SearchBench): Promise<{ whole: number; index: number }> {
  const rows = [...searchCorpus(pages * perPage, 2)].map((row) => ({ ...row, project_id: 'prj_0', org_id: 'org_0' }));
  const batches = Array.from({ length: pages }, (_, n) => rows.slice(n * perPage, (n + 1) * perPage));
  const whole: number[] = [];
  for (const [n, batch] of batches.entries()) whole.push(await bench.storePage(`page-${n}`, batch));
  const index: number[] = [];
  for (const batch of batches) index.push(await bench.indexPage(batch));
  return { whole: quantile(whole, 0.5), index: quantile(index, 0.5) };
}

/** Median over pages of entries from anywhere in the store whose comments have changed. */
async function costOfChanges(bench: SearchBench): Promise<number> {
  const times: number[] = [];
  let page: FeedbackTable[] = [];
  for (const row of searchCorpus(entries)) {
    if (row.project_id !== 'prj_0' || row.comment === null) continue;
    page.push({ ...row, comment: row.comment.split(' ').toReversed().join(' changed ') });
    if (page.length < perPage) continue;
    times.push(await bench.storePage(`changed-${times.length}`, page));
    page = [];
    if (times.length === pages) break;
  }
  return quantile(times, 0.5);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function ms(time: number): string {
  return time < 10 ? `${time.toFixed(1)} ms` : `${Math.round(time).toLocaleString('en')} ms`;
}
