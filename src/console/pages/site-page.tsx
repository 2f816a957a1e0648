import type { KnownSite } from '../readings/console-reader.ts';
import type { SiteFacts } from '../readings/site-facts.ts';
import { Page } from './layout.tsx';
import { Aged, Troubles } from './parts.tsx';
import type { Viewer } from './viewer.ts';
import { Approval } from './approval-section.tsx';
import { History } from './history-section.tsx';
import { Hold } from './hold-section.tsx';
import { Running } from './running-section.tsx';
import { InService } from './service-section.tsx';
import { Versions } from './versions-section.tsx';

interface Site {
  viewer: Viewer;
  site: KnownSite;
  facts: SiteFacts;
  at: number;
  late: boolean;
  /** Of the workflow in the Temporal UI; null when it is not known. */
  temporal: string | null;
}

/** All about one site, and what can be done with it. */
export function SitePage({ viewer, site, facts, at, late, temporal }: Site) {
  const { org, domain } = site;
  const { running, stored, troubles } = facts;
  const approval = running?.state?.approval ?? null;
  return (
    <Page
      title={domain}
      viewer={viewer}
      events={`/events?of=site&org=${encodeURIComponent(org)}&name=${encodeURIComponent(domain)}`}
    >
      <p class="under">{`Site of ${org}`}</p>
      <div id="now" data-live>
        <Aged at={at} late={late} />
        <Troubles troubles={troubles} />
        {approval !== null && <Approval viewer={viewer} site={site} approval={approval} />}
        <div class="split">
          <section aria-labelledby="service-title">
            <h2 id="service-title">In service</h2>
            {stored === null ? <p class="quiet">unknown</p> : <InService stored={stored} />}
          </section>
          <section aria-labelledby="running-title">
            <h2 id="running-title">Running</h2>
            <div class="acts">
              <Running viewer={viewer} site={site} facts={facts} />
              {temporal !== null && (running !== null || facts.runs?.length !== 0) && (
                <p>
                  <a id="temporal-link" href={temporal} rel="noreferrer">
                    The workflow in the Temporal UI
                  </a>
                </p>
              )}
            </div>
          </section>
        </div>
      </div>
      <div id="versions" data-live>
        <Hold viewer={viewer} site={site} stored={stored} />
        <Versions viewer={viewer} site={site} stored={stored} waiting={approval?.version ?? null} />
        <History runs={facts.runs} deeds={facts.deeds} />
      </div>
    </Page>
  );
}
