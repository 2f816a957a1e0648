import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startConsolePart } from '../../src/cli/commands/console.ts';
import { withFeedbackStore } from '../../src/cli/operator.ts';
import type { RunningConsole } from '../../src/console/console.tsx';
import { approveExport, exportState, startExport } from '../../src/operations/exports.ts';
import { formToken, send, signIn } from '../tools/console/running-console.ts';
import { type Scene, setScene } from '../tools/scene.ts';

let scene: Scene;
let running: RunningConsole;
let stop: () => Promise<void>;
const links: string[] = [];

beforeEach(async () => {
  scene = await setScene({ sandbox: { jobSeconds: 0.2, pages: 3, entries: 3 }, approvalTimeout: '1h' });
  await scene.startWorker();
  const config = { ...scene.config, console: { ...scene.config.console, write: true } };
  const place = {
    host: '127.0.0.1',
    port: 0,
    temporalUi: null,
    link: true,
    onNewLink: (link: string) => links.push(link),
  };
  const { console, part } = await startConsolePart(config, place);
  running = console;
  stop = part.stop;
});
afterEach(async () => {
  await stop?.();
  await scene.end();
});

async function versionWaits(): Promise<string> {
  const { client, taskQueue, org, domain } = scene;
  await startExport(client, taskQueue, { org, domain, parameters: {} }, 'join');
  const waiting = async () => (await exportState(client, org, domain)).approval?.version ?? '';
  await expect.poll(waiting, { interval: 300 }).not.toBe('');
  return waiting();
}

/** Oldest first. */
const decisions = (): Promise<string[]> =>
  withFeedbackStore(scene.config, async (store) => {
    const found: string[] = [];
    for await (const { who, action, reason } of store.listAuditEntries({})) found.unshift(`${who} ${action} ${reason}`);
    return found;
  });

const site = () => `/sites/${scene.org}/${scene.domain}`;
const ended = () =>
  expect.poll(async () => (await exportState(scene.client, scene.org, scene.domain)).phase).toBe('done');

describe('a decision in the console', () => {
  it('that somebody else has made meanwhile: says who, and decides nothing twice', async () => {
    const { client, org, domain } = scene;
    const version = await versionWaits();
    const cookie = await signIn(running);
    const form = async () => ({ version, sure: 'yes', order: randomUUID(), token: await formToken(running, cookie) });
    await approveExport(client, { org, domain, version }, { who: 'ada' });
    await expect.poll(decisions).toEqual(['ada approve null']);
    for (const verb of ['approve', 'reject']) {
      const { status, text } = await send(
        running,
        `${site()}/${verb}`,
        { ...(await form()), reason: 'no' },
        { cookie },
      );
      expect([verb, status, text]).toEqual([verb, 409, expect.stringContaining('Already decided')]);
      expect(text).toContain(`${version} of ${domain} was approved by ada`);
      expect(text).toContain(`href="${site()}"`);
    }
    await ended();
    const late = await send(running, `${site()}/approve`, await form(), { cookie });
    expect(late).toMatchObject({
      status: 409,
      text: expect.stringContaining(`${version} of ${domain} was approved by ada`),
    });
    expect(await decisions()).toEqual(['ada approve null']);
  });

  it('of a version that waits, for which something is wrong with the form, says that', async () => {
    const version = await versionWaits();
    const cookie = await signIn(running);
    const token = await formToken(running, cookie);
    const fields = { version, sure: 'yes', order: randomUUID(), token, reason: '' };
    const answer = await send(running, `${site()}/reject`, fields, { cookie });
    expect(answer).toMatchObject({ status: 409, text: expect.stringContaining('A rejection needs a reason') });
    expect(answer.text).not.toContain('Already decided');
    expect(await decisions()).toEqual([]);
  });

  it('that was begun in a session that has ended is made once, after signing in', async () => {
    const version = await versionWaits();
    const old = await signIn(running);
    const fields = { version, order: randomUUID(), token: await formToken(running, old), reason: 'last year’s prices' };
    await send(running, '/sign-out', { token: fields.token }, { cookie: old });
    const refused = await send(running, `${site()}/reject`, { ...fields, sure: 'yes' }, { cookie: old });
    expect(refused).toMatchObject({ status: 401, text: expect.stringContaining(fields.reason) });

    const cookie = await signIn(running, links.at(-1));
    const asked = await send(running, `${site()}/reject`, { ...fields, token: '' }, { cookie });
    expect(asked).toMatchObject({ status: 403, text: expect.stringContaining(fields.reason) });
    const token = await formToken(running, cookie);
    const question = await send(running, `${site()}/reject`, { ...fields, token }, { cookie });
    expect(question).toMatchObject({ status: 200, text: expect.stringContaining('will be removed for good') });
    expect(await decisions()).toEqual([]);
    const sure = { ...fields, token, sure: 'yes' };
    for (let times = 0; times < 2; times += 1) {
      expect(await send(running, `${site()}/reject`, sure, { cookie })).toMatchObject({ status: 303 });
    }
    await expect.poll(decisions).toEqual([`terminal reject ${fields.reason}`]);
  });
});
