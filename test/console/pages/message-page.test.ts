import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ExplainedError } from '../../../src/rules/errors.ts';
import { type Effects, fakeSetting } from '../../tools/console/fake-setting.ts';
import { formToken, runningConsole, send, signIn } from '../../tools/console/running-console.ts';

const site = '/sites/acme/docs.acme.example';

/** What the console answers to a form that one of its pages could have sent. */
async function answerTo(
  path: string,
  fields: Record<string, string> | URLSearchParams,
  setting = fakeSetting({ calls: [], auditEntries: [] }),
) {
  const console = await runningConsole({ setting });
  const cookie = await signIn(console);
  const added = { token: await formToken(console, cookie), order: randomUUID() };
  const form = new URLSearchParams([...new URLSearchParams(fields), ...Object.entries(added)]);
  const { status, text } = await send(console, path, form, { cookie });
  return { status, text, effects: console.effects };
}

describe('a question before what cannot be undone', () => {
  it('shows the reason that goes along, and a way out that is not called like the audit entry', async () => {
    const { text } = await answerTo(`${site}/rollback`, { version: 'v-old', reason: 'a <b>bad</b> release' });
    expect(text).toMatch(/<dt>why<\/dt><dd><bdi>a &lt;b&gt;bad/);
    expect(text).toContain('Then the site is held');
    expect(text).toMatch(/<dt>in service<\/dt><dd><bdi>20261121T040200Z-a{12}<[\s\S]*<dt>then<\/dt><dd><bdi>v-old</);
    expect(text).toMatch(/>\s*Back\s*</);
    const plain = await answerTo(`${site}/rollback`, { version: 'v-old', reason: ' ' });
    expect(plain.text).not.toContain('<dt>why</dt>');
  });

  it('is not asked where what is in service cannot be read, and says why', async () => {
    const openBundles = async () => Promise.reject(new Error('the folder is on another machine'));
    const setting = { ...fakeSetting({ calls: [], auditEntries: [] }), openBundles };
    const { status, text } = await answerTo(`${site}/rollback`, { version: 'v-old' }, setting);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).toContain('The folder is on another machine');
    expect(text).not.toContain('name="sure"');
  });

  it('says for how long the budget is paused', async () => {
    expect((await answerTo('/budget/acme/pause', { for: '8h' })).text).toContain('for 8 h, or until a person resumes');
    const open = await answerTo('/budget/acme/pause', { for: 'open' });
    expect(open.text).toContain('sends requests until a person resumes the budget');
  });
});

describe('a plan for many', () => {
  it('leaves out what has no schedule to pause, and then offers nothing to press', async () => {
    const scheduled = fakeSetting({ calls: [], auditEntries: [] });
    for (const { sites } of scheduled.organizations) {
      for (const one of sites) Object.assign(one, { schedule: { everyMs: 3_600_000, jitterMs: 0 } });
    }
    const both = { verb: 'pause', site: 'acme/docs.acme.example', project: 'acme/prj_1' };
    const { text } = await answerTo('/bulk', both, scheduled);
    expect(text).toContain('Pause schedules 1 of 2?');
    expect(text).toContain('skipped: is refreshed with its organization');
    const none = await answerTo('/bulk', { verb: 'pause', site: 'acme/docs.acme.example' });
    expect(none.text).toContain('Pause schedules: nothing to do');
    expect(none.text).toContain('skipped: has no schedule');
  });

  it('names what is held and released, why the rest is skipped, and takes a reason', async () => {
    const states = {
      'new.acme.example': { current: null, held: null },
      'open.acme.example': { current: 'v-now', held: null },
      'held.acme.example': { current: 'v-now', held: 'v-old' },
    };
    const setting = fakeSetting({ calls: [], auditEntries: [] }, { domains: Object.keys(states) });
    const store = await setting.openBundles();
    const openBundles = async () => Object.assign(store, { inService: async () => new Map(Object.entries(states)) });
    const sites = Object.keys(states).map((domain): [string, string] => ['site', `acme/${domain}`]);
    const plan = async (verb: string) => {
      const form = new URLSearchParams([['verb', verb], ['project', 'acme/prj_1'], ...sites]);
      const { text } = await answerTo('/bulk', form, { ...setting, openBundles });
      const lines = [...text.matchAll(/<tr>.*?<bdi>(\S+?)<\/bdi>.*?<span[^>]*>([^<]+)/gs)];
      const sent = [...text.matchAll(/name="(?:site|project)" value="([^"]+)"/g)].map(([, value]) => value);
      return { sent, lines: lines.map(([, name, what]) => [name, what]), asksWhy: text.includes('name="reason"') };
    };
    const project = ['prj_1', 'skipped: only sites are approved, held and released'];
    expect(await plan('hold')).toEqual({
      sent: ['acme/open.acme.example'],
      lines: [
        ['open.acme.example', 'stays at what is in service, now v-now'],
        ['new.acme.example', 'skipped: without a published version'],
        ['held.acme.example', 'skipped: held already'],
        project,
      ],
      asksWhy: true,
    });
    expect(await plan('release')).toEqual({
      sent: ['acme/held.acme.example'],
      lines: [
        ['held.acme.example', 'no longer held at v-old'],
        ['new.acme.example', 'skipped: not held'],
        ['open.acme.example', 'skipped: not held'],
        project,
      ],
      asksWhy: true,
    });
  });

  it.each(['approve', 'hold', 'release'])('does to a schedule and a project nothing by `%s`', async (verb) => {
    const effects: Effects = { calls: [], auditEntries: [] };
    const fields = { project: 'acme/prj_1', schedule: 'sync:acme:prj_1:incremental', sure: 'yes' };
    expect((await answerTo(`/bulk/${verb}`, fields, fakeSetting(effects))).status).toBe(303);
    expect(effects).toEqual({ calls: [], auditEntries: [] });
  });
});

describe('an order that got no answer', () => {
  it('is not called undone', async () => {
    class Away extends ExplainedError {
      readonly code = 'TemporalUnreachable';
      override readonly hint = 'check that it is running';
    }
    const connect = async () => {
      throw new Away('Temporal does not answer');
    };
    const answer = await answerTo(`${site}/start`, {}, { ...fakeSetting({ calls: [], auditEntries: [] }), connect });
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('It may have succeeded. Check before retrying. Check that it is running.');
  });
});

describe('a form of an ended session', () => {
  it('says in words what would be sent', async () => {
    const { status, text } = await answerTo(`${site}/poll-now`, { token: 'of an ended session' });
    expect(status).toBe(403);
    expect(text).toContain('<dt>what</dt><dd><bdi>poll now: acme, docs.acme.example</bdi></dd>');
  });
});
