import { randomUUID } from 'node:crypto';
import { msToTs } from '@temporalio/common/lib/time.js';
import { describe, expect, it } from 'vitest';
import type { ConsoleSetting } from '../../../src/console/console-setting.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { ask, formToken, runningConsole, send, signIn } from '../../tools/console/running-console.ts';

const address = '/sites/acme/docs.acme.example';

/** The page of a site, with something else in its stores. */
async function sitePage({ bundles = {}, feedback = {}, write = true, described = {}, state = {} }): Promise<string> {
  const setting = fakeSetting({ calls: [], auditEntries: [] }, { reason: 'The prices are wrong', described, state });
  const openBundles = async () => ({ ...(await setting.openBundles()), ...bundles });
  const openFeedback = async () => ({ ...(await setting.openFeedback()), ...feedback });
  const changed = { ...setting, openBundles, openFeedback } as ConsoleSetting;
  const console = await runningConsole({ setting: changed, write });
  return (await ask(console, address, { headers: { cookie: await signIn(console) } })).text;
}

/** What the console answers to a form of one of its pages. */
async function answerTo(path: string, fields: Record<string, string>): Promise<string> {
  const console = await runningConsole({ setting: fakeSetting({ calls: [], auditEntries: [] }) });
  const cookie = await signIn(console);
  const form = { token: await formToken(console, cookie), order: randomUUID(), ...fields };
  return (await send(console, path, form, { cookie })).text;
}

const holdOf = (waiting: string | null) => ({
  holds: { of: async () => ({ version: 'v', since: '2026-11-21T04:02:00.000Z', reason: null, waiting }) },
});

describe('the page of a site', () => {
  it('says how the last run ended and why beside what runs, before the history', async () => {
    const page = await sitePage({});
    expect(page).toMatch(
      /Nothing runs\.[\s\S]*last run[\s\S]*class="state">rejected<[\s\S]*The prices are wrong[\s\S]*>History</,
    );
    expect(await sitePage({ feedback: { listExportRuns: async () => [] } })).not.toContain('last run');
  });

  it('says what a run that goes on keeps failing at', async () => {
    const lastFailure = { message: 'no room <b>left</b>', applicationFailureInfo: { type: 'RolloutFailed' } };
    const nextAttemptScheduleTime = msToTs(Date.UTC(2026, 10, 22, 4, 2));
    const pending = { activityType: { name: 'rollOut' }, attempt: 4, lastFailure, nextAttemptScheduleTime };
    const described = {
      status: { name: 'RUNNING' },
      raw: { pendingActivities: [pending, { ...pending, attempt: 1 }] },
    };
    const page = await sitePage({ described });
    expect(page.split('rollOut failed; the next try is at 04:02:00 UTC')).toHaveLength(2);
    expect(page).toContain('(attempt 4): <bdi>No room &lt;b&gt;left&lt;/b&gt;.</bdi>');
    expect(await sitePage({})).not.toContain('next try');
  });

  it('names what is cancelled, in the question as on the button', async () => {
    const running = { status: { name: 'RUNNING' } };
    expect(await sitePage({ described: running })).toContain('Cancel the export …');
    const cancelled = await answerTo(`${address}/cancel`, { run: 'r' });
    expect(cancelled).toMatch(/<h1><bdi>Cancel the export\?<[\s\S]*The running export of docs\.acme\.example ends/);
    const rollback = await answerTo(`${address}/cancel`, { run: 'r', rollback: 'v-old' });
    expect(rollback).toMatch(
      /<h1><bdi>Cancel the rollback\?<[\s\S]*The running rollback of docs\.acme\.example to v-old ends/,
    );
    expect(rollback).not.toContain('the export');
    const pass = await answerTo('/projects/acme/prj_1/cancel', { run: 'r', pass: 'sweep' });
    expect(pass).toMatch(/<h1><bdi>Cancel the sweep\?<[\s\S]*The running sweep of prj_1 ends/);
  });

  it('marks what a person should look at, and no decision of a person', async () => {
    const [run] = await (await fakeSetting({ calls: [], auditEntries: [] }).openFeedback()).listExportRuns({});
    const ended = (outcome: string, detail: object) => ({ ...run, outcome, detail: JSON.stringify(detail) });
    const runs = [
      ended('rejected', { reasons: [{ rule: 'path-traversal', path: null, detail: 'a path leads out' }] }),
      ended('rejected', { reasons: [{ rule: 'approval-expired', path: null, detail: 'not approved within 3 h' }] }),
      ended('failed', { error: 'JobFailed: the service has failed' }),
      ended('published', {}),
    ];
    const page = await sitePage({
      feedback: { listExportRuns: async () => runs, listAuditEntries: async function* () {} },
    });
    const history = page.slice(page.indexOf('History</h2>'));
    expect([...history.matchAll(/class="(state[^"]*)">([^<]+)</g)].map(([, look, what]) => [what, look])).toEqual([
      ['rejected', 'state bad'],
      ['rejected', 'state'],
      ['failed', 'state bad'],
      ['published', 'state good'],
    ]);
    expect(history).toContain('<bdi>path-traversal: a path leads out.</bdi>');
    expect(history).toContain('<bdi>Not approved within 3 h.</bdi></span></td>');
    expect(history).toContain('<bdi>The service has failed.</bdi>');
  });

  it('says what a hold does, and ends one by that name', async () => {
    const held = await sitePage({ bundles: holdOf('v9') });
    expect(held).toContain('<dt>published meanwhile</dt><dd><bdi>v9</bdi>, not in service</dd>');
    expect(held).toMatch(/put nothing into service[\s\S]*>End the hold</);
    const refused = { version: 'v', contentDigest: 'd' };
    const nowhere = {
      current: async () => null,
      holds: { of: async () => ({ ...(await holdOf(null).holds.of()), refused }) },
    };
    expect(await sitePage({ bundles: nowhere })).toMatch(
      /with nothing in service [\s\S]*A check refused v\.[\s\S]*>End the hold</,
    );
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

  it('says beside the version in service that its target does not have it', async () => {
    expect(await sitePage({})).not.toContain('not on its target');
    const failed = await sitePage({ bundles: { rolledOut: async () => null } });
    expect(failed).toMatch(/<dt>version<\/dt>.*not on its target[\s\S]*in service<\/span><[^>]*> not on its target/);
    const described = { status: { name: 'RUNNING' } };
    expect(await sitePage({ described, bundles: { rolledOut: async () => null } })).not.toContain('not on its target');
  });

  it('offers no rollback to the version that goes into service now, and says that it was decided', async () => {
    const described = { status: { name: 'RUNNING' } };
    expect(await sitePage({ described })).toContain('Roll back to this …');
    const decided = { phase: 'awaiting-approval', approval: null, version: 'v-old' };
    const page = await sitePage({ described, state: decided });
    expect(page).toContain('carrying out the decision');
    expect(page).not.toContain('Roll back to this …');
  });

  it('leads to the Temporal UI once there is something to see', async () => {
    expect(await sitePage({})).toContain('id="temporal-link"');
    expect(await sitePage({ feedback: { listExportRuns: async () => [] } })).not.toContain('id="temporal-link"');
  });

  it('tells who may only look that they may', async () => {
    const page = await sitePage({ write: false });
    expect(page).toContain('You may only look.');
    expect(page).not.toContain(`action="${address}`);
    expect(await sitePage({})).toContain('Your actions are logged as “terminal”.');
  });
});
