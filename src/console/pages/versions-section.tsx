import { counted, sizeText } from '../../rules/quantities.ts';
import type { KnownSite } from '../readings/console-reader.ts';
import type { StoredSite } from '../readings/site-facts.ts';
import { Act, changesAddress, siteAddress, When } from './parts.tsx';
import type { Viewer } from './viewer.ts';
import { Reason } from './reason.tsx';

interface Kept {
  viewer: Viewer;
  site: KnownSite;
  stored: StoredSite | null;
  /** The version that waits for approval; null for none. */
  waiting: string | null;
}

/** What can be rolled back to. */
export function Versions({ viewer, site, stored, waiting }: Kept) {
  if (stored === null) return null;
  const address = siteAddress(site.org, site.domain);
  // The newest first: what stands above it is newer than what is in service.
  const inService = stored.versions.findIndex(({ version }) => version === stored.current);
  return (
    <section aria-labelledby="versions-title">
      <h2 id="versions-title">Kept versions</h2>
      {stored.versions.length === 0 ? (
        <p class="quiet">None yet.</p>
      ) : (
        <div class="scroll">
          <p class="fine">Each HTML file counts as a page, the error page too; the service may count otherwise.</p>
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">version</th>
                <th scope="col">published</th>
                <th scope="col">content</th>
                <th scope="col">
                  <span class="unseen">changes, and rolling back</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {stored.versions.map(({ version, publishedAt, pages, bytes }, place) => (
                <tr>
                  <th scope="row">{version}</th>
                  <td data-name="published">
                    <When at={publishedAt} />
                  </td>
                  <td data-name="content">{`${counted(pages, 'page')}, ${sizeText(bytes)}`}</td>
                  <td data-name="">
                    <div class="row">
                      {version !== stored.current && (
                        <a id={`changes-${version}`} href={changesAddress(site, version)}>
                          what it changes
                        </a>
                      )}
                      {version === stored.current ? (
                        <span class="state good">in service</span>
                      ) : version === waiting ? (
                        <span class="state wait">waits for approval</span>
                      ) : (
                        <Act
                          viewer={viewer}
                          action={`${address}/rollback`}
                          label={place < inService ? 'Put into service …' : 'Roll back to this …'}
                          fields={{ version }}
                          small
                        >
                          <Reason id={`reason-${version}`} label="Why" />
                        </Act>
                      )}
                    </div>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
