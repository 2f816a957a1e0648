import type { StoredProject } from '../../feedback/figures/figure-store.ts';
import { countText } from '../../rules/quantities.ts';
import type { KnownProject } from '../readings/console-reader.ts';
import { feedbackAddress } from '../readings/feedback-query.ts';
import type { ProjectFacts } from '../readings/project-facts.ts';
import { Page } from './layout.tsx';
import { Aged, Facts, Troubles, When } from './parts.tsx';
import type { Viewer } from './viewer.ts';
import { BudgetForProject } from './budget-section.tsx';
import { Charts } from './charts-section.tsx';
import { Passes } from './passes-section.tsx';
import { RunningPasses } from './running-passes.tsx';

interface Project {
  viewer: Viewer;
  project: KnownProject;
  facts: ProjectFacts;
  /** The charts that `ProjectCharts` has drawn; null while they are made, or cannot be. */
  charts: string | null;
  at: number;
  late: boolean;
}

/** All about the feedback of one project. */
export function ProjectPage({ viewer, project: known, facts, charts, at, late }: Project) {
  const { org, project, name } = known;
  const { running, stored, budget, troubles } = facts;
  return (
    <Page
      title={name ?? project}
      viewer={viewer}
      events={`/events?of=project&org=${encodeURIComponent(org)}&name=${encodeURIComponent(project)}`}
    >
      <p class="under">
        {name === null ? `Feedback of ${org}` : `Feedback of ${org}, project ${project}`}:{' '}
        <a href={feedbackAddress({ project })}>search its entries</a>
      </p>
      <div id="now" data-live>
        <Aged at={at} late={late} />
        <Troubles troubles={troubles} />
        <div class="split">
          <section aria-labelledby="stored-title">
            <h2 id="stored-title">Stored</h2>
            {stored === null ? <p class="quiet">unknown</p> : <Stored stored={stored} />}
          </section>
          <section aria-labelledby="running-title">
            <h2 id="running-title">Running</h2>
            <RunningPasses viewer={viewer} project={known} running={running} />
          </section>
        </div>
        <BudgetForProject project={known} budget={budget} />
      </div>
      <div id="charts" data-live>
        <Charts charts={charts} />
      </div>
      <div id="passes" data-live>
        <Passes stored={stored} />
      </div>
    </Page>
  );
}

function Stored({ stored }: { stored: StoredProject }) {
  const { entries, rejects, tombstones, watermark, verifiedUpTo } = stored;
  return (
    <Facts
      facts={[
        ['complete as of', verifiedUpTo === null ? 'not known to be complete' : <When at={verifiedUpTo} />],
        ['entries', countText(entries)],
        rejects > 0 && ['not understood', countText(rejects)],
        tombstones > 0 && ['deleted at the service', countText(tombstones)],
        ['read up to', watermark === null ? 'never read to the end' : <When at={watermark} />],
      ]}
    />
  );
}
