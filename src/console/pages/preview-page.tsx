import type { AwaitedApproval } from '../../exports/rules/site-export.ts';
import { visible } from '../../feedback/report/figure.ts';
import { pagePath } from '../../rules/text.ts';
import type { KnownSite } from '../readings/console-reader.ts';
import { ChangedPages, Decide } from './approval-section.tsx';
import { Page } from './layout.tsx';
import { changesAddress, Foreign, Section, shortVersion, siteAddress, useMayAct, Version } from './parts.tsx';

interface ShownVersion {
  version: string;
  /** Address of the page shown. */
  address: string;
}

interface Preview {
  site: KnownSite;
  shown: ShownVersion;
  /** The version in service, shown beside it; null if there is none, or if previews have one address only. */
  inService: ShownVersion | null;
  /** Path of the page that opens first; null for the index page. */
  path: string | null;
  /** What its approval waits for a person to see; null if it does not wait. */
  changes: AwaitedApproval['changes'] | null;
}

/** A version as a website beside the one in service, for the person who decides. */
export function PreviewPage({ site, shown, inService, path, changes }: Preview) {
  const { version } = shown;
  const waits = changes !== null;
  return (
    <Page title={`Preview of ${shortVersion(version)}`}>
      <p class="under">
        <a id="to-site" href={siteAddress(site.org, site.domain)}>
          <Foreign text={site.domain} />
        </a>
        {' · '}
        <a id="to-changes" href={changesAddress(site, version)}>
          what it changes
        </a>
        {path !== null && (
          <>
            {' · '}
            <Foreign text={pagePath(path)} />
          </>
        )}
      </p>
      <p class="fine">
        For an hour, and while you are signed in. Pages load nothing from other sites, keep nothing and send no forms.
      </p>
      {changes !== null && <ChangedPages site={site} version={version} changes={changes} />}
      {useMayAct() && waits && (
        <section aria-label="Decide" class="acts">
          <Decide site={site} version={version} />
        </section>
      )}
      <div class="previews">
        {inService !== null && <Frame id="in-service" title="In service" shown={inService} />}
        <Frame id="preview" title={waits ? 'Waits for approval' : 'This version'} shown={shown} />
      </div>
    </Page>
  );
}

function Frame({ id, title, shown: { version, address } }: { id: string; title: string; shown: ShownVersion }) {
  return (
    <Section id={id} title={title}>
      <p class="fine">
        <Version name={version} />
        {' · '}
        <a id={`${id}-alone`} href={address} target="_blank" rel="noopener noreferrer">
          in a tab of its own
        </a>
      </p>
      <iframe id={`${id}-frame`} title={`${title}: ${visible(version)}`} src={address} sandbox="allow-scripts" />
    </Section>
  );
}
