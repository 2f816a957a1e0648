import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runBulk } from '../../src/cli/bulk.ts';
import { type CommandContext, Output, operationFailure } from '../../src/cli/context.ts';
import { actingOn } from '../../src/cli/operator.ts';
import type { Config } from '../../src/config/config.ts';
import type { Installation } from '../../src/operations/installation.ts';
import { type Operator, planApprovals, planHolds, type Site } from '../../src/operations/operator.ts';
import { startedExport } from '../../src/runs/rules/audit.ts';
import { publishSite, smallSiteVersion } from '../tools/bundle/published-version.ts';
import { tempFolder } from '../tools/bundle/temp-folder.ts';
import { docferryJson, folderWithConfig } from '../tools/cli/run-docferry.ts';
import { type TemporaryStore, temporaryStore } from '../tools/feedback/temporary-store.ts';

const configOf = (feedback: object) =>
  ({ organizations: [], temporal: { taskQueue: 'q' }, store: { feedback } }) as unknown as Config;

const sites = Array.from({ length: 100 }, (_, n): Site => ({ org: 'acme', domain: `docs${n}.acme.example` }));

function jsonContext(): { context: CommandContext; printed(): string } {
  let printed = '';
  const stream = {
    write(text: string | Uint8Array) {
      printed += String(text);
      return true;
    },
  };
  const silent = { write: () => true };
  const output = new Output({ json: true, quiet: true, color: false, env: {}, stdout: stream, stderr: silent });
  return { context: { output, configFile: undefined, env: {}, cwd: '.' }, printed: () => printed };
}

/** Does it to a hundred sites; `meanwhile` comes first. */
async function doToAll(at: TemporaryStore, meanwhile: (site: Site) => Promise<void>) {
  const { context, printed } = jsonContext();
  const work = (operator: Operator) =>
    runBulk<Site>(
      context,
      { yes: true },
      { items: sites, skipped: [] },
      {
        kind: 'sites',
        verb: 'start the exports of',
        done: 'started',
        none: 'no site is configured',
        lineOf: ({ domain }) => domain,
        async work(site) {
          await meanwhile(site);
          operator.record(startedExport(site.org, site.domain, `run of ${site.domain}`, {}));
          return {};
        },
      },
    );
  const exitCode = await actingOn(configOf(at.place), context, { as: 'anna' }, work, { bulk: true });
  return { exitCode, document: JSON.parse(printed()) };
}

const kept = async (at: TemporaryStore) =>
  (await at.rows('select subject, detail from audit')).map(({ subject, detail }) => {
    expect(JSON.parse(String(detail))).toEqual({ bulk: true });
    return subject;
  });

describe('the audit entries of a bulk command (X6)', () => {
  it('are in the audit before it has ended: one that is killed in the middle loses none of them', async () => {
    await using at = await temporaryStore();
    const { exitCode, document } = await doToAll(at, async ({ domain }) => {
      const before = sites.slice(0, 80).map((site) => site.domain);
      if (domain === sites.at(-1)?.domain) await expect.poll(() => kept(at)).toEqual(expect.arrayContaining(before));
    });
    expect([exitCode, document.totals]).toEqual([0, { done: 100, failed: 0, left: 0 }]);
    expect(new Set(await kept(at))).toEqual(new Set(sites.map(({ domain }) => domain)));
  });

  it('are those of what had begun when Ctrl-C came; the rest is named', async () => {
    await using at = await temporaryStore();
    const { exitCode, document } = await doToAll(at, async ({ domain }) => {
      if (domain === sites[40]?.domain) process.emit('SIGINT');
    });
    const { done, failed, left } = document.totals;
    expect([exitCode, failed, done + left]).toEqual([1, 0, sites.length]);
    expect(left).toBeGreaterThan(0);
    expect(document.left[0]).toMatchObject({ org: 'acme', why: 'interrupted' });
    expect(new Set(await kept(at))).toEqual(new Set(document.sites.map(({ domain }: Site) => domain)));
  });
});

it('a site whose record is damaged stops the holds of no other, and fails by name', async () => {
  const [first, second] = ['docs.acme.example', 'help.acme.example'];
  const cwd = await folderWithConfig({
    organizations: `  - { id: acme, apiKey: k, sites: [{ domain: ${first} }, { domain: ${second} }] }`,
  });
  const root = join(cwd, 'data/bundles');
  for (const domain of [first, second]) {
    const { store } = await publishSite({ root, domain, version: smallSiteVersion });
    await store.moveCurrent(domain, smallSiteVersion, 0, new Date());
  }
  await writeFile(join(root, first, 'current.json'), '{"vers');
  for (const [verb, held] of [
    ['hold', smallSiteVersion],
    ['release', null],
  ] as const) {
    const { exitCode, document, stderr } = await docferryJson(['export', verb, '--all', '--yes'], { cwd });
    expect(exitCode).toBe(1);
    expect(document).toMatchObject({
      sites: [
        { domain: first, ok: false, error: { message: `${first}/current.json in the bundle store is damaged` } },
        { domain: second, ok: true, held },
      ],
      totals: { done: 1, failed: 1, left: 0 },
    });
    expect(stderr).toContain(`${first}: ${first}/current.json`);
  }
});

it('the holds of many sites are planned with one request to the store', async () => {
  const asked: number[] = [];
  const inService = async (domains: string[]) => {
    asked.push(domains.length);
    return new Map(domains.map((domain) => [domain, { current: 'v1', held: null }]));
  };
  const installation = { bundles: async () => ({ inService }) } as unknown as Installation;
  expect((await planHolds(installation, 'hold', sites)).items).toHaveLength(sites.length);
  expect(asked).toEqual([sites.length]);
});

it('sites that could not be asked have failed, also where nothing else is to be done', async () => {
  const domain = 'docs.acme.example';
  const running = new Map([[`export:acme:${domain}`, { phase: null, runId: 'r' }]]);
  const client = { workflow: { getHandle: () => ({ describe: async () => ({ status: { name: 'RUNNING' } }) }) } };
  const silent = {
    temporal: async () => client,
    ask: () => Promise.reject(operationFailure('NoWorker', 'no worker answers', '')),
  } as unknown as Installation;
  const plan = await planApprovals(silent, [{ org: 'acme', domain }], running);
  expect(plan).toMatchObject({ items: [], skipped: [], failed: [{ item: { domain, version: null } }] });
  const { context, printed } = jsonContext();
  const command = {
    kind: 'sites',
    verb: '',
    done: '',
    none: 'none',
    lineOf: ({ domain: name }: Site) => name,
  } as const;
  expect(await runBulk<Site>(context, { yes: true }, plan, { ...command, work: async () => ({}) })).toBe(1);
  expect(JSON.parse(printed())).toMatchObject({
    sites: [{ domain, ok: false, error: { code: 'NoWorker' } }],
    totals: { done: 0, failed: 1, left: 0 },
  });
});

it("a command makes no database where the workers' is not, and says that the audit lacks what was done", async () => {
  const file = join(await tempFolder(), 'feedback.db');
  const warnings: string[] = [];
  const context = { output: { warn: (text: string) => warnings.push(text) } } as unknown as CommandContext;
  await actingOn(configOf({ kind: 'sqlite', file }), context, {}, async (operator) => {
    operator.record(startedExport('acme', 'docs.acme.example', 'run-1', {}));
  });
  expect(warnings).toEqual([
    `it is done, but \`docferry audit\` will not show it: feedback store ${file}: this machine has no such file. ` +
      "Run the command where the workers' store is, or start a worker here: it makes the file.",
  ]);
  expect(existsSync(file)).toBe(false);
});

it('the summary of a bulk command says how many of the selected, and why not the others', async () => {
  const printed: string[] = [];
  const stdout = { write: (text: string | Uint8Array) => printed.push(String(text)) > 0 };
  const output = new Output({ json: false, quiet: true, color: false, env: {}, stdout, stderr: { write: () => true } });
  const context: CommandContext = { output, configFile: undefined, env: {}, cwd: '.' };
  const plan = { items: sites.slice(0, 7), skipped: sites.slice(7, 10).map((item) => ({ item, why: 'held already' })) };
  await runBulk<Site>(context, { yes: true }, plan, {
    kind: 'sites',
    verb: 'hold',
    done: 'held',
    none: 'nothing to hold',
    lineOf: ({ domain }) => domain,
    async work({ domain }) {
      if (domain === sites[0]?.domain) throw new Error('no room');
      return {};
    },
  });
  expect(printed.join('').split('\n').at(-2)).toBe('held 6 of 10 sites: 1 failed, 3 held already');
});
