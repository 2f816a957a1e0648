import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** How a person uses a page. */
export interface Hands {
  /** Follows a link, or presses a button. */
  press(what: Locator): Promise<void>;
  tick(box: Locator): Promise<void>;
  write(field: Locator, text: string): Promise<void>;
  /** Picks what a list calls so. */
  choose(list: Locator, option: string): Promise<void>;
}

/** By pointer, which may also type. */
export const pointer = (): Hands => ({
  press: (what) => what.click(),
  tick: (box) => box.check(),
  write: (field, text) => field.fill(text),
  choose: async (list, option) => {
    await list.selectOption({ label: option });
  },
});

/** By keyboard alone: Tab until it has the focus, then Enter, Space or letters. */
export const keyboard = (page: Page): Hands => ({
  async press(what) {
    await focus(page, what);
    await page.keyboard.press('Enter');
  },
  async tick(box) {
    await focus(page, box);
    await page.keyboard.press('Space');
    expect(await box.isChecked()).toBe(true);
  },
  async write(field, text) {
    await focus(page, field);
    await page.keyboard.type(text);
  },
  async choose(list, option) {
    await focus(page, list);
    await page.keyboard.type(option);
    expect(await list.locator('option:checked').textContent()).toBe(option);
  },
});

const mostTabs = 200;

async function focus(page: Page, what: Locator): Promise<void> {
  await what.waitFor();
  for (let left = mostTabs; left > 0; left -= 1) {
    // A live page may replace what is looked for at any moment: it must be in the focus all the same.
    if (await what.evaluate((element) => element.matches(':focus'))) return;
    await page.keyboard.press('Tab');
  }
  expect.fail(`${await what.textContent()} cannot be reached by keyboard`);
}
