import { afterEach, expect, it, onTestFinished } from 'vitest';
import { createWebhookActivities, recordNotices, sendDueNotices } from '../../src/activities/notices.ts';
import type { Noticed, NoticeState, NoticeType } from '../../src/runs/rules/notices.ts';
import { type WebhookDelivery, webhookEventTypes } from '../../src/runs/rules/webhook-event.ts';
import { type ActivityScene, activityScene, mockActivity } from '../tools/activity-dependencies.ts';
import { startReceiver } from '../tools/servers/webhook-receiver.ts';

let scene: ActivityScene;
afterEach(() => scene.end());

const monday = Date.UTC(2026, 10, 23);
const minuteMs = 60_000;
const sites = Array.from({ length: 40 }, (_, n) => `docs${String(n + 1).padStart(2, '0')}.acme.example`);
const at = (day: number, hour: number, minute = 0) => day * 1_440 + hour * 60 + minute;

/** What happens, by the minute of the week. */
type Happening = [minute: number, Noticed];
const turn = (minute: number, type: NoticeType, subject: string, state: NoticeState, reason?: string): Happening => [
  minute,
  { type, subject, state, ...(reason !== undefined && { reason }) },
];

const outage = 'the service answered 503 six times in a row';
const week: Happening[] = [
  // The service is down on Monday night: every site's export fails when its turn comes, and all are late by morning.
  ...sites.flatMap((site, n) => [
    turn(at(0, 2, 4 * n), 'export.failed', site, 'begun', outage),
    turn(
      at(0, 8),
      'export.late',
      site,
      'begun',
      `the last good export was at 2026-11-22T02:${n}; expected within 26 h`,
    ),
    turn(at(0, 9, 3 * n), 'export.failed', site, 'ended'),
    turn(at(0, 9, 3 * n), 'export.late', site, 'ended'),
  ]),
  // One target is full meanwhile, which is another matter.
  turn(at(0, 3, 1), 'rollout.failed', 'docs05.acme.example', 'begun', 'directory:./site: no space left'),
  turn(at(0, 13), 'rollout.failed', 'docs05.acme.example', 'ended'),
  // Somebody holds nine sites with one command on Tuesday and releases them on Wednesday.
  ...sites
    .slice(0, 9)
    .flatMap((site, n) => [
      turn(at(1, 10, 2), 'site.held', site, 'begun', `held at v${n} since 2026-11-24T09:59:3${n}Z`),
      turn(at(2, 10, 2), 'site.held', site, 'ended'),
    ]),
  // Two bundles break rules on Thursday.
  turn(at(3, 6, 1), 'export.refused', 'docs03.acme.example', 'begun', 'no-index-page: index.html'),
  turn(at(3, 6, 1), 'export.refused', 'docs11.acme.example', 'begun', 'no-symbolic-links: a/b'),
  // The key is refused for two hours on Friday, so that no project is read.
  turn(at(4, 6), 'key.refused', 'acme', 'begun', 'the service answers 401'),
  ...Array.from({ length: 10 }, (_, n) => [
    turn(at(4, 7), 'feedback.stale', `prj_${n}`, 'begun', 'its newest entries were last read at 05:58'),
    turn(at(4, 8, 4), 'feedback.stale', `prj_${n}`, 'ended'),
  ]).flat(),
  turn(at(4, 8), 'key.refused', 'acme', 'ended'),
  // A deployment tool puts earlier versions back on Saturday.
  ...sites.flatMap((site, n) => [
    turn(at(5, 12), 'rollout.drifted', site, 'begun', `helm:docs runs 20260101T00000${n % 10}Z-aaaaaaaaaaaa`),
    turn(at(5, 14, n), 'rollout.drifted', site, 'ended'),
  ]),
  // One start of six sites on Sunday brings six versions to decide about.
  ...sites
    .slice(0, 6)
    .flatMap((site, n) => [
      turn(at(6, 9, n), 'approval.wanted', site, 'begun', 'pages: 3 changed'),
      turn(at(6, 11), 'approval.wanted', site, 'ended', 'approved'),
    ]),
];

const must = 'somebody must act';
const decide = 'a decision waits';
const over = 'it is over';
const noted = 'nobody must act';
const judged: Record<string, string> = { '🔴': must, '🟡': decide, '✅': over, '🔵': noted };

it('tells one message an act and an outage in a week of faults, and red is what a person must mend (X9)', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.stop());
  const url = () => receiver.url;
  const chat = { name: 'chat', format: 'slack', events: webhookEventTypes, url, secret: () => null } as const;
  scene = await activityScene({}, undefined, { webhooks: [chat] });
  const { deps, delivered } = scene;
  const { sendWebhook } = createWebhookActivities(deps);
  const told: string[] = [];
  /** What arrives at the channel, and how many people's matters stand behind it. */
  const deliver = async (time: Date) => {
    for (const delivery of delivered.splice(0)) await mockActivity().run(sendWebhook, delivery);
    for (const { body } of receiver.received.splice(0)) {
      const { text, blocks } = JSON.parse(body) as { text: string; blocks: { fields?: { text: string }[] }[] };
      const [sign = '', ...title] = text.split(' ');
      told.push(`${time.toISOString().slice(8, 13)} ${judged[sign]} · ${title.join(' ')}`);
      const waits = blocks.flatMap(({ fields = [] }) => fields.filter((field) => field.text.startsWith('*waits*')));
      told.push(...waits.map((field) => `  ${field.text.replace('\n', ' ')}`));
    }
  };
  const digest = (to: Date) => {
    const from = new Date(to.getTime() - 7 * 86_400_000).toISOString();
    const event = { type: 'digest', timestamp: to.toISOString(), data: { org: 'acme', from, to: to.toISOString() } };
    delivered.push({ org: 'acme', webhook: 'chat', messageId: `msg_${to.getTime()}`, event } as WebhookDelivery);
  };
  /** One a change, as they would be without grouping. */
  let changes = 0;
  const openOnes = async () => (await deps.feedback.noticeRows('acme')).filter(({ open }) => open).length;
  let next = at(0, 0);
  for (let minute = 0; minute <= at(7, 9); minute += 1) {
    const time = new Date(monday + minute * minuteMs);
    for (const [, noticed] of week.filter(([when]) => when === minute)) {
      const before = await openOnes();
      await mockActivity().run(() => recordNotices(deps, [noticed], { org: 'acme', by: `at ${minute}`, at: time }));
      changes += before === (await openOnes()) ? 0 : 1;
    }
    if (minute < next) continue;
    await mockActivity().run(() => sendDueNotices(deps, 'acme', time));
    if (minute === at(0, 9) || minute === at(7, 9)) digest(time);
    await deliver(time);
    next = minute + 5;
  }
  expect(told).toEqual([
    `23T02 ${must} · docs01.acme.example (acme): the export failed`,
    `23T03 ${must} · docs05.acme.example (acme): the rollout failed`,
    `23T09 ${decide} · acme: the week from 2026-11-16 to 2026-11-23`,
    '  *waits* docs02.acme.example and 38 others: the export failed, docs05.acme.example: the rollout failed',
    `23T11 ${over} · docs01.acme.example and 39 others (acme): the export works again`,
    `23T13 ${over} · docs05.acme.example (acme): the rollout works again`,
    `24T10 ${noted} · docs01.acme.example and 8 others (acme): held: exports put nothing into service`,
    `25T10 ${over} · docs01.acme.example and 8 others (acme): the hold was released`,
    `26T06 ${must} · docs03.acme.example and 1 other (acme): the exported bundle was refused`,
    `27T06 ${must} · acme: the service refuses the API key`,
    `27T08 ${over} · acme: the service accepts the API key again`,
    `28T12 ${must} · docs01.acme.example and 39 others (acme): a target runs another version than was rolled out`,
    `28T14 ${over} · docs01.acme.example and 39 others (acme): the targets run what was rolled out`,
    `29T09 ${decide} · docs01.acme.example (acme): a version waits for approval`,
    `29T09 ${decide} · docs02.acme.example and 4 others (acme): a version waits for approval`,
    `29T11 ${over} · docs01.acme.example and 5 others (acme): no version waits for approval now`,
    `30T09 ${decide} · acme: the week from 2026-11-23 to 2026-11-30`,
    '  *waits* docs03.acme.example and 1 other: the exported bundle was refused',
  ]);
  expect(changes).toBe(296);
}, 120_000);
