import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWebhookActivities } from '../../src/activities/notices.ts';
import { createWatchActivities } from '../../src/activities/watch-steps.ts';
import type { FeedbackEntry } from '../../src/feedback/rules/feedback-entry.ts';
import type { FeedbackStore } from '../../src/feedback/store/feedback-store.ts';
import type { ChangedEntry, EntryFilter, WebhookDelivery } from '../../src/runs/rules/webhook-event.ts';
import { type ActivityScene, activityScene, failureOf, mockActivity } from '../tools/activity-dependencies.ts';
import { entry, wholePass } from '../tools/feedback/temporary-store.ts';
import { startReceiver, type WebhookReceiver, webhookSecret } from '../tools/servers/webhook-receiver.ts';

let scene: ActivityScene;
let store: FeedbackStore;
let receiver: WebhookReceiver;
const secretWords = 'PLANTED words of a reader';

async function setScene(entries: EntryFilter = {}, digestMs: number | null = null): Promise<void> {
  receiver = await startReceiver();
  const webhook = {
    name: 'tracker',
    format: 'standard' as const,
    events: ['feedback.entries'] as const,
    entries,
    digestMs,
    url: () => receiver.url,
    secret: () => webhookSecret,
  };
  scene = await activityScene({}, undefined, { webhooks: [webhook] });
  store = scene.deps.feedback as FeedbackStore;
  passes = 0;
}
beforeEach(() => setScene());
afterEach(async () => {
  await scene.end();
  await receiver.stop();
});

/** One look of the watch; what it had delivered since the look before. */
async function look(at = new Date()): Promise<WebhookDelivery[]> {
  const { lookAround } = createWatchActivities(scene.deps);
  const info = { currentAttemptScheduledTimestampMs: at.getTime(), scheduledTimestampMs: at.getTime() };
  await mockActivity(info).run(lookAround, { org: 'acme', last: { since: 0, absent: [], at: null } });
  return scene.delivered.splice(0);
}

const send = (delivery: WebhookDelivery | undefined, attempt = 1) => {
  const { sendWebhook } = createWebhookActivities(scene.deps);
  return mockActivity({ attempt }).run(sendWebhook, delivery ?? expect.fail('nothing is delivered'));
};

const sent = (): ChangedEntry[] => receiver.received.flatMap(({ body }) => JSON.parse(body).data.entries);
let passes = 0;
/** A sweep that reads these, an hour after the one before. */
async function read(...entries: FeedbackEntry[]): Promise<void> {
  passes += 1;
  await wholePass(store, `pass-${passes}`, entries, { startedAt: new Date(Date.UTC(2026, 10, 21, passes)) });
}
const words = (id: string, over: Partial<FeedbackEntry> = {}) =>
  entry(id, { comment: `${secretWords} ${id}`, contact: `${id}@example.org`, extra: { region: 'eu' }, ...over });

describe('changed entries', () => {
  it('are sent from the first look on, each change once by its id, and as they are then', async () => {
    await read(words('old'));
    expect(await look()).toEqual([]);
    await read(words('old'), words('new'));
    const [delivery, ...more] = await look();
    expect(more).toEqual([]);
    expect(JSON.stringify(delivery)).not.toContain('PLANTED');
    await send(delivery);
    expect(sent()).toEqual([
      {
        id: 'new',
        change: expect.any(Number),
        path: '/docs/start',
        comment: `${secretWords} new`,
        createdAt: '2026-11-20T10:00:00Z',
        source: 'thumbs_only',
        status: 'pending',
        helpful: null,
        code: null,
        filename: null,
        lang: null,
        deletedAt: null,
      },
    ]);
    expect(await look()).toEqual([]);
    await read(words('old', { status: 'resolved' }), words('new'));
    await send((await look())[0]);
    expect(sent().map(({ id, status }) => [id, status])).toEqual([
      ['new', 'pending'],
      ['old', 'resolved'],
    ]);
    const changes = sent().map(({ id, change }) => `${id} ${change}`);
    expect(new Set(changes).size).toBe(changes.length);
  });

  it('reach a receiver that fails, repeats and restarts: each change by the same id, in messages of a hundred', async () => {
    await look();
    await read(...Array.from({ length: 250 }, (_, n) => words(`e${n}`)));
    const deliveries = await look();
    expect(deliveries).toHaveLength(3);
    expect(new Set(deliveries.map(({ messageId }) => messageId)).size).toBe(3);
    for (const delivery of deliveries) {
      receiver.answers.push({ status: 500, body: 'inner words' });
      const failure = await failureOf(send(delivery));
      expect(failure).toMatchObject({ type: 'WebhookRefused', nonRetryable: false });
      expect(`${failure?.message} ${JSON.stringify(failure?.details ?? null)}`).not.toMatch(/PLANTED|inner words/);
      await send(delivery, 2);
    }
    const changes = sent().map(({ id, change }) => `${id} ${change}`);
    expect([changes.length, new Set(changes).size]).toEqual([500, 250]);
    // The step that noted how far it came ends before that, and runs again.
    await read(words('e0', { status: 'resolved' }));
    const { moveWebhookPosition } = store;
    store.moveWebhookPosition = async () => {};
    const [first] = await look();
    store.moveWebhookPosition = moveWebhookPosition;
    expect((await look())[0]?.messageId).toBe(first?.messageId);
    // An older attempt notes only now how far it came.
    await store.moveWebhookPosition('acme', 'tracker', 'prj_1', 0);
    expect(await look()).toEqual([]);
  });

  it('leave out what was erased between a batch and its retry, and what has changed again', async () => {
    await look();
    await read(words('ada', { contact: 'ada@example.org' }), words('bob'));
    const [delivery] = await look();
    receiver.answers.push({ status: 503 });
    await failureOf(send(delivery));
    receiver.received.splice(0);
    await store.erase({ contact: 'ada@example.org', at: new Date() });
    await read(words('bob', { status: 'resolved' }), words('ada', { contact: 'ada@example.org' }));
    await send(delivery, 2);
    const again = await look();
    for (const next of again) await send(next);
    const bodies = receiver.received.map(({ body }) => body).join();
    expect(bodies).not.toContain('words of a reader ada');
    expect(bodies).not.toContain('@example.org');
    expect(sent().filter(({ id }) => id === 'bob')).toMatchObject([{ status: 'resolved' }]);
  });

  it.each<[EntryFilter, string[]]>([
    [{ withWords: true }, ['said', 'unhappy']],
    [{ helpful: false }, ['unhappy']],
    [{ sources: ['agent'] }, ['said']],
    [{ statuses: ['resolved'], withWords: true }, ['unhappy']],
    [{ projects: ['prj_2'] }, []],
  ])('are those of the filter %j', async (filter, expected) => {
    await scene.end();
    await receiver.stop();
    await setScene(filter);
    await look();
    await read(
      entry('mute'),
      words('said', { source: 'agent' }),
      words('unhappy', { helpful: false, status: 'resolved', source: 'contextual' }),
    );
    for (const delivery of await look()) await send(delivery);
    expect(sent().map(({ id }) => id)).toEqual(expected);
  });

  it('come as nothing when all of a message is gone', async () => {
    await look();
    await read(words('ada'));
    const [delivery] = await look();
    await read(words('ada', { status: 'resolved' }));
    expect(await send(delivery)).toMatchObject({ status: 204 });
    expect(receiver.received).toEqual([]);
  });
});

describe('a digest', () => {
  const monday = (days: number) => new Date(Date.UTC(2026, 10, 23 + days, 9, 1));
  const nine = 9 * 3_600_000;

  it('tells of the week once, from the first time after it was configured', async () => {
    await scene.end();
    await receiver.stop();
    await setScene({}, nine);
    const digests = async (at: Date) => (await look(at)).filter(({ event }) => event.type === 'digest');
    expect(await digests(monday(-7))).toEqual([]);
    await read(words('ada', { helpful: false }), words('bob', { helpful: false, path: '/b' }));
    await read(entry('mute', { helpful: false, path: 'https://docs.example/b/?from=mail#top' }));
    await store.turnNotice({
      org: 'acme',
      type: 'export.failed',
      subject: 'docs.acme.example',
      state: 'begun',
      at: monday(-1),
    });
    expect(await digests(new Date(monday(0).getTime() - 120_000))).toEqual([]);
    const [delivery, ...more] = await digests(monday(0));
    expect(more).toEqual([]);
    expect(JSON.stringify(delivery)).not.toContain('PLANTED');
    await send(delivery);
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
      type: 'digest',
      data: {
        from: '2026-11-16T09:00:00.000Z',
        to: '2026-11-23T09:00:00.000Z',
        comments: { count: 2, newest: [{ comment: `${secretWords} ada` }, { comment: `${secretWords} bob` }] },
        worstPages: [
          { path: '/b', notHelpful: 2 },
          { path: '/docs/start', notHelpful: 1 },
        ],
        waiting: [{ type: 'export.failed', subject: 'docs.acme.example' }],
      },
    });
    expect(await digests(monday(1))).toEqual([]);
    expect(await digests(monday(7))).toHaveLength(1);
  });

  it('goes no more to a channel that is gone: people are told once, and of missed weeks only the latest follows', async () => {
    await scene.end();
    await receiver.stop();
    await setScene({}, nine);
    const notices = async () => (await store.noticeRows('acme')).filter(({ open }) => open);
    expect(await look(monday(-7))).toEqual([]);
    const [digest] = await look(monday(0));
    receiver.answers.push({ status: 410 });
    expect(await failureOf(send(digest))).toMatchObject({ type: 'WebhookRefused', nonRetryable: true });
    expect(await notices()).toMatchObject([{ type: 'webhook.gone', subject: 'tracker' }]);
    await read(words('ada'));
    for (const days of [1, 7, 14]) expect(await look(monday(days))).toEqual([]);
    expect([receiver.received.length, (await notices()).length]).toEqual([1, 1]);
    // The delivery began the notice at the present; an end before that would be ignored.
    await store.turnNotice({ org: 'acme', type: 'webhook.gone', subject: 'tracker', state: 'ended', at: new Date() });
    const weeks = (await look(monday(15))).flatMap(({ event }) => (event.type === 'digest' ? [event.data.to] : []));
    expect(weeks).toEqual(['2026-12-07T09:00:00.000Z']);
  });
});
