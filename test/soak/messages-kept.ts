import { z } from 'zod';
import type { Kept } from '../tools/promises/kept.ts';
import type { SoakScene } from './soak-scene.ts';

const messageSchema = z.object({
  type: z.string(),
  data: z.object({
    org: z.string(),
    subject: z.string().optional(),
    state: z.string().optional(),
    runId: z.string().optional(),
  }),
});
type Message = z.output<typeof messageSchema> & { id: string };

/** Each event is one message, however often it was sent; what begins and ends is told in turn (docs/webhooks.md). */
export async function messagesKept({ receiver, database }: SoakScene): Promise<Kept[]> {
  const byId = new Map<string, Message>();
  let different = 0;
  for (const { headers, body } of receiver.received) {
    const message = { ...messageSchema.parse(JSON.parse(body)), id: String(headers['webhook-id']) };
    const before = byId.get(message.id);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(message)) different += 1;
    byId.set(message.id, message);
  }
  const messages = [...byId.values()];
  const ended = messages.filter(({ type }) => type.endsWith('.finished'));
  const told = new Set(ended.map(({ type, data }) => `${type} ${data.runId}`));
  const exports = await database.rows('select run_id from export_runs where job_id is not null');
  const untold = exports.filter(({ run_id }) => !told.has(`export.finished ${run_id}`));
  const uneven = unevenTurns(messages);
  return [
    {
      promise: 'webhooks',
      looked: `${receiver.received.length} deliveries of ${messages.length} messages, ${ended.length} of runs that ended`,
      found: `${ended.length - told.size} runs told twice, ${untold.length} exports not told, ${different} messages that changed`,
      ok: ended.length === told.size && untold.length === 0 && different === 0,
    },
    {
      promise: 'notices',
      looked: `${messages.length - ended.length} messages about what people act on`,
      found: uneven.length === 0 ? 'begun and ended in turn' : `not in turn: ${uneven.slice(0, 3).join('; ')}`,
      ok: uneven.length === 0,
    },
  ];
}

/** Subjects that began more often than they ended, beyond the once that may still hold; what others stand for only ends. */
function unevenTurns(messages: readonly Message[]): string[] {
  const turns = new Map<string, { begun: number; ended: number }>();
  for (const { type, data } of messages) {
    if (data.state !== 'begun' && data.state !== 'ended') continue;
    const key = `${type} ${data.org} ${data.subject}`;
    const turn = turns.get(key) ?? { begun: 0, ended: 0 };
    turn[data.state] += 1;
    turns.set(key, turn);
  }
  return [...turns]
    .filter(([, { begun, ended }]) => begun - ended > 1)
    .map(([key, { begun, ended }]) => `${key}: ${begun} begun, ${ended} ended`);
}
