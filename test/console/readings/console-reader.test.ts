import { expect, it, onTestFinished, vi } from 'vitest';
import { untouchedView, type WindowView } from '../../../src/budget/rules/window-view.ts';
import { ConsoleReader } from '../../../src/console/readings/console-reader.ts';
import { fakeSetting } from '../../tools/console/fake-setting.ts';

it('expects delays of the window as it is now, not as it was when the console started', async () => {
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const limits = { requests: 100, reserve: 0, windowMs: 3_600_000, arrivalMs: 30_000 };
  const state: WindowView = { ...untouchedView(limits) };
  const setting = fakeSetting({ calls: [], auditEntries: [] }, { state });
  const feedback = await setting.openFeedback();
  const asked: number[] = [];
  const refreshDelays = async (_organization: unknown, { limit }: { limit: number }) => {
    asked.push(limit);
    return new Map();
  };
  const openFeedback = async () => ({ ...feedback, refreshDelays }) as never;
  const budget = (limit: number) => ({
    ...setting,
    openFeedback,
    askWorker: async () => ({ ...state, limit }) as never,
  });
  const changing = { ...budget(100) };
  const reader = new ConsoleReader(changing, { freshMs: 10, maxWaitMs: 5_000, firstMs: 5_000 });
  await reader.budgets.get();
  changing.askWorker = budget(20).askWorker;
  vi.setSystemTime(Date.now() + 600_000);
  await reader.budgets.get();
  expect(asked).toEqual([100, 20]);
});
