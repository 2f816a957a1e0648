import type { Locator, Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exportState } from '../../src/operations/exports.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { type ConsoleStage, hasBrowser, setConsoleStage } from './console-stage.ts';
import { type Hands, keyboard, pointer } from './hands.ts';

const ways = [
  { how: 'by keyboard', hands: keyboard, script: true },
  { how: 'by pointer', hands: pointer, script: true },
  { how: 'by keyboard, without JavaScript', hands: keyboard, script: false },
  { how: 'by pointer, without JavaScript', hands: pointer, script: false },
];

describe.skipIf(!hasBrowser)('what people do in the console', () => {
  let stage: ConsoleStage;

  beforeEach(async () => {
    const sandbox = { jobSeconds: 1, entries: 150 };
    stage = await setConsoleStage({ approvalTimeout: '1h', schedule: '{ every: 7d }', sandbox });
  });
  afterEach(() => stage.end());

  async function begin({ hands, script }: (typeof ways)[number]) {
    const page = await stage.signedIn({ javaScriptEnabled: script });
    return new Person(page, hands(page), stage.running.url, script);
  }

  it.each(ways)('$how: a version is looked at, approved, held, rolled back, rejected', async (way) => {
    const { scene } = stage;
    const person = await begin(way);
    await person.follow(scene.domain);
    await person.sees('Start an export');
    await person.press('Start an export');
    await person.reads('has started');
    await person.sees('Waits for approval');
    await person.press('Approve');
    const first = await person.versionOf(/Approved: (\S+) goes into service/);
    await person.sees('published');

    scene.sandbox.publishRevision(scene.domain);
    await person.sees('Start an export');
    await person.press('Start an export');
    await person.sees('Waits for approval');
    await person.follow('See what changes in the text');
    expect(await person.page.locator('del, ins').count()).toBeGreaterThan(1);
    await person.press('Approve');
    const second = await person.versionOf(/Approved: (\S+) goes into service/);
    expect(second).not.toBe(first);
    await person.inService(second);

    await person.open('Hold this version …');
    await person.write('Why the site stays as it is (optional)', 'a fair');
    await person.press('Hold at this version');
    await person.reads('is held at');
    await person.press('End the hold');
    await person.reads('is no longer held');

    await person.page.goto(`${stage.running.url}/sites/${scene.org}/${scene.domain}/changes/${first}`);
    await person.write('Why (optional)', 'second <thoughts>');
    await person.press('Put into service …');
    await person.press('Roll back');
    await person.inService(first);
    await person.reads('second <thoughts>');
    await person.press('End the hold');
    await person.reads('is no longer held');

    await person.sees('Start an export');
    await person.press('Start an export');
    await person.sees('Waits for approval');
    await person.write('Why it is rejected', 'not yet');
    await person.press('Reject …');
    await person.press('Reject');
    await person.reads(/Rejected: \S+ is removed/);
    await person.sees('rejected a version');
    await person.reads('not yet');

    await person.sees('Start an export');
    await person.press('Start an export');
    await person.sees('Waits for approval');
    await person.press('Cancel the export …');
    await person.press('Cancel the export');
    await person.reads('Cancelling the export');
    await person.sees('cancelled');
  });

  it.each(ways)('$how: budget, schedules, a sync and many at once', async (way) => {
    const { scene } = stage;
    const person = await begin(way);
    await person.follow(scene.project);
    await person.choose('Pass', 'sweep');
    await person.press('Sync now');
    await person.reads('The sweep of');
    await person.sees('sweep');

    await person.follow('Budget');
    const emergency = `Pause or override … the budget of ${scene.org}`;
    await person.open(emergency);
    await person.choose('For', '1 hour');
    await person.press('Pause …');
    await person.press('Pause');
    await person.reads('is paused');
    await person.open(emergency);
    await person.press('Resume');
    await person.reads('is resumed');
    await person.open(emergency);
    await person.write('Requests', '50');
    await person.press('Override');
    await person.reads('are overridden');
    await person.open(emergency);
    await person.press('End the override');
    await person.reads('are as configured');

    await person.follow('Schedules');
    await person.press('Pause');
    await person.reads('is paused');
    // Temporal's list of schedules follows in a moment.
    await person.sees('Resume');
    await person.press('Resume');
    await person.reads('is resumed');

    await person.follow('Overview');
    await person.write('Name contains', 'DOCS.');
    await person.press('Search');
    await person.page.waitForURL(/\?q=DOCS\./i);
    expect(await person.page.locator('tbody tr').count()).toBe(1);
    await person.follow(/^held/);
    expect(person.page.url()).toContain('is=held&q=docs.');
    await person.reads('No results.');
    await person.follow(/^all/);
    await person.tick(`Select ${scene.domain}`);
    await person.press('Pause schedules …');
    await person.reads('no export starts by itself');
    await person.press('Pause schedules');
    await person.reads('Paused 1 of 1.');
    await person.tick(`Select ${scene.domain}`);
    await person.press('Start …');
    await person.press('Start');
    await person.reads('Started 1 of 1.');
    const phase = async () => (await exportState(scene.client, scene.org, scene.domain)).phase;
    await expect.poll(phase, { interval: 500 }).toBe('awaiting-approval');
    await person.tick(`Select ${scene.domain}`);
    await person.press('Approve …');
    await person.press('Approve');
    await person.reads('Approved 1 of 1.');
    await expect.poll(phase, { interval: 500 }).toBe('done');
    await person.tick(`Select ${scene.domain}`);
    await person.press('Hold …');
    await person.reads('stays at what is in service, now');
    await person.write('Why (optional)', 'a fair');
    await person.press('Hold');
    await person.reads('Held 1 of 1.');
    await person.tick(`Select ${scene.domain}`);
    await person.press('Release …');
    await person.press('Release');
    await person.reads('Released 1 of 1.');
  });

  it('a page that changes leaves alone what a person has chosen, opened or has in the focus', async () => {
    const { client, taskQueue, org, project } = stage.scene;
    const sweep = { org, project, pass: 'sweep', class: 'on-demand', failover: 'fast' } as const;
    const page = await stage.signedIn();
    await startSync(client, taskQueue, sweep);
    await page.goto(`${stage.running.url}/projects/${org}/${project}`);
    // Charts are read once a minute at most.
    await expect.poll(() => page.locator('svg').count()).toBeGreaterThan(0);
    const numbers = page.locator('#charts details').first();
    await numbers.locator('summary').click();
    await page.getByLabel('Pass', { exact: true }).selectOption('review');
    await page.getByRole('button', { name: 'Sync now' }).focus();
    await expect.poll(() => page.getByRole('rowheader', { name: 'sweep' }).count()).toBe(1);
    await expect.poll(() => page.getByText('completed', { exact: true }).count()).toBe(1);
    await startSync(client, taskQueue, sweep);
    await expect.poll(() => page.getByRole('rowheader', { name: 'sweep' }).count()).toBe(2);
    expect(await page.getByLabel('Pass', { exact: true }).inputValue()).toBe('review');
    expect(await page.locator(':focus').textContent()).toBe('Sync now');
    expect(await numbers.getAttribute('open')).not.toBeNull();
  });
});

/** Somebody with a browser and hands. */
class Person {
  readonly page: Page;
  readonly #hands: Hands;
  readonly #origin: string;
  readonly #script: boolean;

  constructor(page: Page, hands: Hands, origin: string, script: boolean) {
    this.page = page;
    this.#hands = hands;
    this.#origin = origin;
    this.#script = script;
  }

  async follow(name: string | RegExp): Promise<void> {
    await this.#goes(this.page.getByRole('link', exactly(name)).first());
  }

  async press(name: string): Promise<void> {
    await this.#goes(this.page.getByRole('button', { name, exact: true }).first());
  }

  /** Opens what a line hides. */
  async open(summary: string): Promise<void> {
    await this.#hands.press(this.page.locator('summary').filter({ hasText: summary }));
  }

  tick(label: string): Promise<void> {
    return this.#hands.tick(this.page.getByLabel(label));
  }

  write(label: string, text: string): Promise<void> {
    return this.#hands.write(this.page.getByLabel(label, { exact: true }).first(), text);
  }

  choose(label: string, option: string): Promise<void> {
    return this.#hands.choose(this.page.getByLabel(label, { exact: true }).first(), option);
  }

  /** The page says so now. */
  async reads(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  /** A heading, row or button of that name comes; without the script the person loads the page again. */
  async sees(name: string): Promise<void> {
    const heading = this.page.getByRole('heading', { name, exact: true });
    const row = this.page.getByRole('rowheader', { name, exact: true });
    const button = this.page.getByRole('button', { name, exact: true });
    await this.#comes(async () => (await heading.or(row).or(button).count()) > 0);
  }

  async inService(version: string): Promise<void> {
    const row = this.page.getByRole('row').filter({ hasText: version }).filter({ hasText: 'in service' });
    await this.#comes(async () => (await row.count()) > 0);
  }

  async versionOf(note: RegExp): Promise<string> {
    const text = await this.page.getByText(note).first().textContent();
    return note.exec(text ?? '')?.[1] ?? '';
  }

  /** Presses what leads to a page, and waits for that. */
  async #goes(what: Locator): Promise<void> {
    await Promise.all([this.page.waitForEvent('framenavigated'), this.#hands.press(what)]);
    await this.page.waitForLoadState();
  }

  async #comes(isThere: () => Promise<boolean>): Promise<void> {
    const look = async () => {
      if (!this.#script) await this.page.goto(this.page.url().replace(/\?done=.*/, ''));
      return isThere();
    };
    await expect.poll(look, { timeout: 60_000, interval: 500, message: `at ${this.#origin}` }).toBe(true);
  }
}

const exactly = (name: string | RegExp) => (typeof name === 'string' ? { name, exact: true } : { name });
