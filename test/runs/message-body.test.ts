import { describe, expect, it } from 'vitest';
import {
  helpfulCommand,
  type Notice,
  type NoticeState,
  type NoticeType,
  noticeTypes,
} from '../../src/runs/rules/notices.ts';
import type { ChangedEntry, WebhookMessage } from '../../src/runs/rules/webhook-event.ts';
import { eventWords, messageBody } from '../../src/runs/webhooks.ts';
import { shapeProblem } from '../tools/servers/chat-shapes.ts';

const timestamp = '2026-11-21T04:02:00.000Z';
const runs: WebhookMessage[] = [
  {
    type: 'feedback.pass.finished',
    timestamp,
    data: {
      org: 'acme',
      project: 'prj_1',
      pass: 'sweep',
      outcome: 'failed',
      pages: 3,
      requests: 4,
      throttled: 0,
      entries: { seen: 250, inserted: 12, updated: 4, unchanged: 234, rejected: 0, tombstoned: 0 },
      watermark: null,
      verifiedUpTo: null,
      workflowId: 'sync:acme:prj_1:sweep',
      runId: 'r',
    },
  },
  {
    type: 'export.finished',
    timestamp,
    data: {
      org: 'acme',
      domain: 'docs.acme.example',
      outcome: 'published',
      version: 'v1',
      contentDigest: 'ab',
      url: 'http://bundles.example/v1',
      held: null,
      workflowId: 'export:acme:docs.acme.example',
      runId: 'r',
    },
  },
];
const notice = (type: NoticeType, more: Partial<Notice> = {}): WebhookMessage => ({
  type,
  timestamp,
  data: {
    org: 'acme',
    subject: 'docs.acme.example',
    state: 'begun',
    since: '2026-11-21T03:02:00.000Z',
    reason: 'it failed',
    command: helpfulCommand(type, 'docs.acme.example', 'acme'),
    facts: { version: 'v1', pagesAdded: 3 },
    ...more,
  },
});
const states = ['begun', 'ended', 'happened'] satisfies NoticeState[];
const events = [...runs, ...noticeTypes.flatMap((type) => states.map((state) => notice(type, { state })))];

describe.each(['slack', 'teams'] as const)('a message for %s', (format) => {
  it('has the shape that its incoming webhook takes, whatever happened', () => {
    for (const event of events) {
      expect(shapeProblem(format, messageBody(event, format))).toBeNull();
      expect(shapeProblem(format, messageBody(event, format, 'https://docferry.example/'))).toBeNull();
    }
  });

  it('keeps it when texts are as long and as odd as they can be', () => {
    const odd = `<!channel> <http://evil.example|click> [click](http://evil.example) *b* \`c\` & ${'😀<&'.repeat(400)}`;
    const facts = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`fact${n}`, odd.slice(0, 500)]));
    const long = notice('export.failed', { subject: odd, reason: odd, command: odd, facts });
    expect(shapeProblem(format, messageBody(long, format))).toBeNull();
  });

  it('makes no link and no mention of texts from elsewhere', () => {
    const body = messageBody(
      notice('export.failed', { reason: '<!here> [click](http://evil.example)', facts: {} }),
      format,
    );
    if (format === 'slack') expect(body).toContain('&lt;!here&gt;');
    else expect(body).toContain(String.raw`\\[click\\]`);
  });

  it('links to the page of the console, where there is one', () => {
    const linked = (event: WebhookMessage) => messageBody(event, format, 'https://docferry.example/');
    const base = 'https://docferry.example';
    expect(linked(notice('export.failed'))).toContain(`${base}/sites/acme/docs.acme.example`);
    expect(linked(notice('pass.failed', { subject: 'prj_1/sweep' }))).toContain(`${base}/projects/acme/prj_1`);
    expect(linked(notice('key.refused', { subject: 'acme' }))).toContain(`${base}/budget`);
    expect(messageBody(notice('export.failed'), format)).not.toContain('console');
  });

  it('names the others of a message about several, and links to all of them', () => {
    const named = [
      { subject: 'b.example', reason: null },
      { subject: 'c.example', reason: 'no space' },
    ];
    const body = messageBody(notice('export.failed', { others: { count: 39, named } }), format, 'https://d.example');
    for (const part of ['docs.acme.example and 39 others (acme)', 'c.example: no space', 'and 37 more', '/?org=acme']) {
      expect(body).toContain(part);
    }
  });

  it('shows the paths of pages as people write them', () => {
    const said = { id: '1', path: '/sch%C3%B6n', status: 'pending', comment: 'no', deletedAt: null } as ChangedEntry;
    const entries: WebhookMessage = {
      type: 'feedback.entries',
      timestamp,
      data: { org: 'acme', project: 'prj_1', entries: [said] },
    };
    const project = 'prj_1';
    const week: WebhookMessage = {
      type: 'digest',
      timestamp,
      data: {
        org: 'acme',
        from: timestamp,
        to: timestamp,
        comments: { count: 1, newest: [{ project, path: '/%C3%BCber', comment: 'no' }] },
        worstPages: [{ project, path: '/sch%C3%B6n', notHelpful: 1 }],
        released: [],
        waiting: [],
      },
    };
    expect(messageBody(entries, format)).toContain('/schön');
    for (const path of ['/schön', '/über']) expect(messageBody(week, format)).toContain(path);
    expect(messageBody(week, 'standard')).toContain('/sch%C3%B6n');
  });

  it('says who did it, and why', () => {
    const decided = { who: 'anna', why: 'the translation is wrong' };
    const body = messageBody(notice('site.held', { decided }), format);
    for (const part of ['anna', 'the translation is wrong']) expect(body).toContain(part);
  });

  it('says what happened, why, and the command that helps', () => {
    const body = messageBody(notice('rollout.failed'), format);
    for (const part of ['the rollout failed', 'it failed', 'docferry export status docs.acme.example', 'pages added']) {
      expect(body).toContain(part);
    }
    expect(messageBody(notice('rollout.failed', { state: 'ended', command: null }), format)).toContain('1 h');
  });
});

describe('a message by the standard', () => {
  it('is the event itself', () => {
    for (const event of events) expect(JSON.parse(messageBody(event, 'standard'))).toEqual(event);
    const linked = JSON.parse(messageBody(notice('export.failed'), 'standard', 'https://docferry.example'));
    expect(linked.data.page).toBe('https://docferry.example/sites/acme/docs.acme.example');
  });
});

describe('the words of an event', () => {
  it('tell what failed from what is over, what waits for a person and what a person did', () => {
    const tones = [
      notice('key.refused'),
      notice('key.refused', { state: 'ended' }),
      notice('approval.wanted'),
      notice('site.held'),
      notice('site.rolled-back', { state: 'happened' }),
      ...runs,
    ];
    expect(tones.map((event) => eventWords(event).tone)).toEqual(['bad', 'ok', 'ask', 'note', 'note', 'note', 'ok']);
  });
});
