import { describe, expect, it } from 'vitest';
import type { ConsoleSetting } from '../../../src/console/console-setting.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { ask, runningConsole, signIn } from '../../tools/console/running-console.ts';

const address = '/sites/acme/docs.acme.example';

/** The page of a site, with something else in its stores. */
async function sitePage({ bundles = {}, feedback = {}, write = true, described = {} }): Promise<string> {
  const setting = fakeSetting({ calls: [], deeds: [] }, { reason: 'The prices are wrong', described });
  const openBundles = async () => ({ ...(await setting.openBundles()), ...bundles });
  const openFeedback = async () => ({ ...(await setting.openFeedback()), ...feedback });
  const changed = { ...setting, openBundles, openFeedback } as ConsoleSetting;
  const console = await runningConsole({ setting: changed, write });
  return (await ask(console, address, { headers: { cookie: await signIn(console) } })).text;
}

const holdOf = (waiting: string | null) => ({
  holds: { of: async () => ({ version: 'v', since: '2026-11-21T04:02:00.000Z', reason: null, waiting }) },
});

describe('the page of a site', () => {
  it('says how the last run ended and why beside what runs, before the history', async () => {
    const page = await sitePage({});
    expect(page).toMatch(
      /Nothing runs\.[\s\S]*last run[\s\S]*state bad">rejected<[\s\S]*The prices are wrong[\s\S]*>History</,
    );
    expect(await sitePage({ feedback: { listExportRuns: async () => [] } })).not.toContain('last run');
  });

  it('says what a run that goes on keeps failing at', async () => {
    const lastFailure = { message: 'no room <b>left</b>', applicationFailureInfo: { type: 'RolloutFailed' } };
    const pending = { activityType: { name: 'rollOut' }, attempt: 4, lastFailure };
    const described = {
      status: { name: 'RUNNING' },
      raw: { pendingActivities: [pending, { ...pending, attempt: 1 }] },
    };
    const page = await sitePage({ described });
    expect(page.split('rollOut has failed and is tried again')).toHaveLength(2);
    expect(page).toContain('(attempt 4): <bdi>RolloutFailed: no room &lt;b&gt;left&lt;/b&gt;</bdi>');
    expect(await sitePage({})).not.toContain('tried again');
  });

  it('says what a hold does, and ends one by that name', async () => {
    const held = await sitePage({ bundles: holdOf('v9') });
    expect(held).toContain('<dt>published meanwhile</dt><dd>v9, not in service</dd>');
    expect(held).toMatch(/put nothing into service[\s\S]*>End the hold</);
    const free = await sitePage({ bundles: { holds: { of: async () => null } } });
    expect(free).toMatch(/put nothing into service[\s\S]*>Hold at this version</);
  });

  it('rolls back to what is older, and puts what is newer into service', async () => {
    const page = await sitePage({});
    expect([page.includes('Roll back to this …'), page.includes('Put into service …')]).toEqual([true, false]);
    const current = async () => ({ version: 'v-old', contentDigest: 'e', publishedAt: '2026-11-20', epoch: 1 });
    const rolledBack = await sitePage({ bundles: { current } });
    expect([rolledBack.includes('Roll back to this …'), rolledBack.includes('Put into service …')]).toEqual([
      false,
      true,
    ]);
  });

  it('leads to the Temporal UI once there is something to see', async () => {
    expect(await sitePage({})).toContain('id="temporal-link"');
    expect(await sitePage({ feedback: { listExportRuns: async () => [] } })).not.toContain('id="temporal-link"');
  });

  it('tells who may only look that they may', async () => {
    const page = await sitePage({ write: false });
    expect(page).toContain(', may only look');
    expect(page).not.toContain(`action="${address}`);
    expect(await sitePage({})).toContain('stands in the audit as done by terminal');
  });
});
