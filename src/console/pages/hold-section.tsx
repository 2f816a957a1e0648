import type { KnownSite } from '../readings/console-reader.ts';
import type { StoredSite } from '../readings/site-facts.ts';
import { Act, siteAddress } from './parts.tsx';
import type { Viewer } from './viewer.ts';
import { Reason } from './reason.tsx';

/** Holds the site at its version, or releases it. */
export function Hold({ viewer, site, stored }: { viewer: Viewer; site: KnownSite; stored: StoredSite | null }) {
  if (stored === null || stored.current === null || !viewer.mayAct) return null;
  const address = siteAddress(site.org, site.domain);
  return (
    <section aria-labelledby="hold-title">
      <h2 id="hold-title">{stored.hold === null ? 'Hold' : 'Held'}</h2>
      {stored.hold === null ? (
        <>
          <p class="under">While a site is held, exports go on and are published, but put nothing into service.</p>
          <Act viewer={viewer} action={`${address}/hold`} label="Hold at this version">
            <Reason id="hold-reason" label="Why the site stays as it is" />
          </Act>
        </>
      ) : (
        <>
          <p class="under">
            Exports go on and are published, but put nothing into service. When the hold ends, what is in service stays
            until the next export.
          </p>
          <Act viewer={viewer} action={`${address}/release`} label="End the hold" />
        </>
      )}
    </section>
  );
}
