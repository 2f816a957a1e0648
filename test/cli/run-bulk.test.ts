import { describe, expect, it } from 'vitest';
import { type BulkPlan, runBulk } from '../../src/cli/bulk.ts';
import type { CommandContext } from '../../src/cli/context.ts';
import { Output } from '../../src/cli/terminal/output.ts';
import type { Config } from '../../src/config/config.ts';
import { startedExport } from '../../src/runs/rules/own-audit-entries.ts';
import { type TemporaryStore, temporaryStore } from '../tools/feedback/temporary-store.ts';

interface Site {
  org: string;
  domain: string;
}

const sites = Array.from({ length: 100 }, (_, n): Site => ({ org: 'acme', domain: `docs${n}.acme.example` }));

/** Does it to a hundred sites; `meanwhile` comes first. */
async function doToAll(at: TemporaryStore, meanwhile: (site: Site) => Promise<void>) {
  let printed = '';
  const stream = {
    write(text: string | Uint8Array) {
      printed += String(text);
      return true;
    },
  };
  const silent = { write: () => true };
  const output = new Output({ json: true, quiet: true, color: false, env: {}, stdout: stream, stderr: silent });
  const context: CommandContext = { output, configFile: undefined, env: {}, cwd: '.' };
  const config = { store: { feedback: at.place } } as Config;
  const plan: BulkPlan<Site> = {
    kind: 'sites',
    verb: 'start the exports of',
    done: 'started',
    items: sites,
    left: [],
    lineOf: ({ domain }) => domain,
    work: async (site) => {
      await meanwhile(site);
      return { document: {}, auditEntries: startedExport(site.org, site.domain, `run of ${site.domain}`, {}) };
    },
  };
  const exitCode = await runBulk(context, config, { yes: true, as: 'anna' }, plan);
  return { exitCode, document: JSON.parse(printed) };
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
