import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ConsoleSetting } from '../../../src/console/console-setting.ts';
import { writtenTable } from '../../../src/console/pages/overview-page.tsx';
import { type OverviewLine, overviewQuery } from '../../../src/console/readings/overview-filter.ts';
import { ExplainedError } from '../../../src/rules/errors.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { ask, runningConsole, signIn } from '../../tools/console/running-console.ts';

class Away extends ExplainedError {
  readonly code = 'TemporalUnreachable';
  override readonly hint = 'check that it is running';
}

const away = async () => {
  throw new Away('Temporal does not answer');
};

async function overview(path: string, change: Partial<ConsoleSetting> = {}): Promise<string> {
  const console = await runningConsole({ setting: { ...fakeSetting({ calls: [], auditEntries: [] }), ...change } });
  return (await ask(console, path, { headers: { cookie: await signIn(console) } })).text;
}

describe('the overview', () => {
  it('says what the chosen chip means', async () => {
    expect(await overview('/')).not.toContain('The newest entries were not read');
    expect(await overview('/?is=stale')).toContain('The newest entries were not read');
  });

  it('tells a search without hits, a chip without lines and an empty configuration apart', async () => {
    expect(await overview('/?q=nope')).toContain('No results. <a href="/">Show all</a>');
    expect(await overview('/?is=running')).toContain('None. <a href="/">Show all</a>');
    expect(await overview('/', { organizations: [] })).toContain('No sites or projects are configured.');
  });

  it('counts nothing that only Temporal knows while Temporal is unreachable', async () => {
    const page = await overview('/', { connect: away });
    expect(page).toContain('Temporal does not answer: running work and next starts are unavailable.');
    expect(page).toContain('Check that it is running.');
    expect(page).toMatch(/waiting <b>\?<\/b>[\s\S]*running <b>\?<\/b>[\s\S]*held <b>1<\/b>/);
  });

  it('marks a run as failed only while the site is failing, and says why', async () => {
    const withRecord = async (change: object) => {
      const setting = fakeSetting({ calls: [], auditEntries: [] });
      const feedback = await setting.openFeedback();
      const [record] = (await feedback.latestRecords({ sites: [], projects: [] })).sites;
      const latestRecords = async () => ({ sites: [{ ...record, ...change }], projects: [] });
      return overview('/', { openFeedback: async () => ({ ...feedback, latestRecords }) as never });
    };
    const declined = await withRecord({ failingSince: null });
    expect(declined).toContain('<span class="state">rejected</span>');
    expect(declined).toContain('<bdi>A reason.</bdi>');
    const refused = await withRecord({ lastReason: 'path-traversal: a path leads out' });
    expect(refused).toContain('<span class="state bad">rejected</span>');
    expect(refused).toContain('<bdi>path-traversal: a path leads out.</bdi>');
    expect(await withRecord({ lastOutcome: 'cancelled' })).toContain('<span class="state">cancelled</span>');
  });

  it('says of a site at work what it does, and nothing of the run before', () => {
    const reason = { lastOutcome: 'rejected', lastAt: '2026-11-22T11:00:00.000Z', lastReason: 'Prices are wrong' };
    const site = { kind: 'site', title: 'a.example', org: 'acme', domain: 'a.example', nextAt: null, paused: false };
    const ended = { ...site, ...reason, current: null, held: null, failingSince: null, startedAt: null, drift: null };
    const shown = (state: object) => {
      const lines = [{ ...ended, staleSince: null, ...state } as OverviewLine];
      const query = overviewQuery(new URLSearchParams());
      const about = { mayAct: true, query, lines, organizations: ['acme'], unavailable: [], at: 0, late: false };
      return new TextDecoder().decode(writtenTable(about, new Map()).tables ?? undefined);
    };
    const atWork = shown({ state: 'running', phase: 'rendering' });
    expect(atWork).toContain('<span class="state wait">rendering</span>');
    expect(atWork).not.toContain('Prices are wrong');
    expect(shown({ state: 'idle', phase: null })).toContain('Prices are wrong');
  });

  it('shows that a site has become stale, and ages, also while nothing else changes', async () => {
    vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const setting = fakeSetting({ calls: [], auditEntries: [] });
    const [organization] = setting.organizations;
    const feedback = await setting.openFeedback();
    const [record] = (await feedback.latestRecords({ sites: [], projects: [] })).sites;
    const at = new Date().toISOString();
    const site = { ...record, lastOutcome: 'published', failingSince: null, lastAt: at, exportedAt: at };
    const latestRecords = async () => ({ sites: [site], projects: [] });
    const sites = [{ domain: 'docs.acme.example', lateAfterMs: 60_000, rollout: [] }];
    const console = await runningConsole({
      setting: {
        ...setting,
        organizations: organization ? [{ ...organization, sites }] : [],
        openFeedback: async () => ({ ...feedback, latestRecords }) as never,
      },
      idleMs: 3_600_000,
    });
    const cookie = await signIn(console);
    const look = async () => (await ask(console, '/', { headers: { cookie } })).text;
    expect(await look()).toMatch(/stale <b>0<[\s\S]*just now/);
    vi.setSystemTime(Date.now() + 600_000);
    expect(await look()).toMatch(/stale <b>1<[\s\S]*10 min ago/);
  });

  it('says of the schedules that they are not known, and not that none starts', async () => {
    const [organization] = fakeSetting({ calls: [], auditEntries: [] }).organizations;
    const page = await overview('/schedules', { connect: away, organizations: organization ? [organization] : [] });
    expect(page).toContain('next starts are unavailable.');
  });
});
