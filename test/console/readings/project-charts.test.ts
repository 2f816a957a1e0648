import { describe, expect, it } from 'vitest';
import { projectCharts } from '../../../src/console/readings/console-reader.ts';
import { Readings } from '../../../src/console/readings/shared-reading.ts';
import type { FeedbackStore } from '../../../src/feedback/store/feedback-store.ts';
import { entry, temporaryStore, wholePass } from '../../tools/feedback/temporary-store.ts';

const times = { freshMs: 10_000, maxWaitMs: 1_000, firstMs: 600_000 };

describe("a project's charts", () => {
  it('are those of the report, without what people wrote', async () => {
    await using at = await temporaryStore();
    await wholePass(at.store, 'sweep-1', [entry('e', { comment: 'a secret remark', helpful: true })]);
    const charts = projectCharts(async () => at.store, times);
    // They come later than a page waits for while the chart library loads.
    const drawn = () =>
      charts
        .of({ org: 'acme', project: 'prj_1' })
        .get()
        .then(({ value }) => value)
        .catch(() => '');
    await expect.poll(drawn).toContain('<svg');
    expect(await drawn()).toContain('Incoming feedback');
    expect(await drawn()).not.toContain('a secret remark');
  });

  it('are counted once for everybody', async () => {
    await using at = await temporaryStore();
    let counted = 0;
    const store: Pick<FeedbackStore, 'reportFigures'> = {
      reportFigures: (query) => {
        counted += 1;
        return at.store.reportFigures(query);
      },
    };
    const charts = projectCharts(async () => store as FeedbackStore, times);
    const project = { org: 'acme', project: 'prj_1' };
    const all = await Promise.all(Array.from({ length: 20 }, () => charts.of(project).get()));
    expect(new Set(all.map(({ value }) => value)).size).toBe(1);
    expect(counted).toBe(1);
  });
});

describe('the latest readings', () => {
  it('are kept by name, a bounded number of them', async () => {
    const readings = new Readings((name: string) => async () => name, times, 2);
    const [a, b] = [readings.of('a'), readings.of('b')];
    expect(readings.of('a')).toBe(a);
    readings.of('c');
    expect(readings.of('a')).toBe(a);
    expect(readings.of('b')).not.toBe(b);
  });
});
