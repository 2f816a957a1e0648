import type { FeedbackStore } from '../../feedback/store/feedback-store.ts';
import type { ReportFigures } from '../../feedback/rules/report-figures.ts';
import { LatestReadings } from './latest-readings.ts';
import type { ReadingTimes, SharedReading } from './shared-reading.ts';

/** All entries are counted, so this is read more rarely than the rest. */
const freshMs = 60_000;
/** A page comes without its charts, which follow. */
const firstMs = 1_500;
const mostKept = 50;

interface Drawn {
  /** JSON text of what was drawn. */
  figures: string;
  charts: string;
}

/** The report's charts of projects as HTML, without what people wrote; drawn again only when the figures have changed. */
export class ProjectCharts {
  readonly #feedback: () => Promise<FeedbackStore>;
  readonly #readings: LatestReadings<string>;

  constructor(feedback: () => Promise<FeedbackStore>, times: ReadingTimes) {
    this.#feedback = feedback;
    this.#readings = new LatestReadings(mostKept, { ...times, freshMs, firstMs });
  }

  of({ org, project }: { org: string; project: string }): SharedReading<string> {
    let last: Drawn | null = null;
    return this.#readings.of(JSON.stringify([org, project]), async () => {
      const query = { org, project, comments: 0, now: new Date() };
      const figures = await (await this.#feedback()).reportFigures(query);
      const text = JSON.stringify(figures);
      if (last?.figures !== text) last = { figures: text, charts: await draw(figures) };
      return last.charts;
    });
  }
}

async function draw(figures: ReportFigures): Promise<string> {
  // Loads the chart library, which no other page needs.
  const { chartsOf } = await import('../../feedback/report/project-part.ts');
  return chartsOf(figures, 'feedback').toString();
}
