import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ExplainedError } from '../../../src/rules/errors.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';
import { formToken, runningConsole, send, signIn } from '../../tools/console/running-console.ts';

const site = '/sites/acme/docs.acme.example';

/** What the console answers to a form that one of its pages could have sent. */
async function answerTo(
  path: string,
  fields: Record<string, string>,
  setting = fakeSetting({ calls: [], auditEntries: [] }),
) {
  const console = await runningConsole({ setting });
  const cookie = await signIn(console);
  const form = { token: await formToken(console, cookie), order: randomUUID(), ...fields };
  const { status, text } = await send(console, path, form, { cookie });
  return { status, text, effects: console.effects };
}

describe('a question before what cannot be undone', () => {
  it('shows the reason that goes along, and a way out that is not called like the audit entry', async () => {
    const { text } = await answerTo(`${site}/rollback`, { version: 'v-old', reason: 'a <b>bad</b> release' });
    expect(text).toMatch(/<dt>why<\/dt><dd><bdi>a &lt;b&gt;bad/);
    expect(text).toContain('Then the site is held');
    expect(text).toMatch(/>\s*Cancel\s*</);
    const plain = await answerTo(`${site}/rollback`, { version: 'v-old', reason: ' ' });
    expect(plain.text).not.toContain('<dt>why</dt>');
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
    expect(none.text).not.toContain('Cancel');
  });
});

describe('an order that got no answer', () => {
  it('is not called undone', async () => {
    class Away extends ExplainedError {
      readonly code = 'TemporalUnreachable';
      readonly hint = 'check that it is running';
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
