import { spanText } from '../../model/details-text.ts';
import { changesText } from '../../model/export/content-changes.ts';
import { type EndDetail, whyEnded } from '../../model/export/export-outcome.ts';
import { type AwaitedApproval, type ExportState, longestReason } from '../../model/export/site-export.ts';
import { transferFacts } from '../../model/export/transfer.ts';
import { counted, countText, sizeText } from '../../model/quantities.ts';
import { visible } from '../../report/html.ts';
import type { KnownSite } from '../readings/console-reader.ts';
import type { SiteFacts, StoredSite } from '../readings/site-facts.ts';
import { Page } from './layout.tsx';
import { Act, Aged, Facts, Foreign, siteAddress, Troubles, When } from './parts.tsx';
import type { Viewer } from './viewer.ts';

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
            <Running viewer={viewer} site={site} facts={facts} />
            {temporal !== null && (
              <p>
                <a id="temporal-link" href={temporal} rel="noreferrer">
                  The workflow in the Temporal UI
                </a>
              </p>
            )}
          </section>
        </div>
      </div>
      <div id="versions" data-live>
        <Hold viewer={viewer} site={site} stored={stored} />
        <Versions viewer={viewer} site={site} stored={stored} waiting={approval?.version ?? null} />
        <History runs={facts.runs} />
      </div>
    </Page>
  );
}

function InService({ stored: { current, url, hold, targets } }: { stored: StoredSite }) {
  return (
    <Facts
      facts={[
        ['version', current ?? 'nothing yet'],
        hold !== null && [
          'held',
          <>
            {`at ${hold.version} since `}
            <When at={hold.since} />
            {hold.reason !== null && (
              <>
                {': '}
                <Foreign text={hold.reason} />
              </>
            )}
          </>,
        ],
        hold !== null && hold.waiting !== null && ['waits for the release', hold.waiting],
        ...targets.map(
          ({ name, version }) =>
            [
              visible(name),
              version === null
                ? 'nothing yet'
                : version === current
                  ? `${version}`
                  : `${version}, not what is in service`,
            ] as const,
        ),
        url !== null && [
          'bundle',
          <a id="bundle-link" href={url} rel="noreferrer">
            {url}
          </a>,
        ],
      ]}
    />
  );
}

function Running({
  viewer,
  site,
  facts: { running, troubles },
}: {
  viewer: Viewer;
  site: KnownSite;
  facts: SiteFacts;
}) {
  const address = siteAddress(site.org, site.domain);
  if (running === null) {
    return (
      <div class="acts">
        <p class="quiet">{troubles.length > 0 ? 'nothing that is known' : 'Nothing runs.'}</p>
        <Act viewer={viewer} action={`${address}/start`} label="Start an export" first>
          <label class="tick">
            <input id="force" type="checkbox" name="force" value="yes" /> publish even if nothing changed
          </label>
        </Act>
      </div>
    );
  }
  const { state, runId } = running;
  return (
    <div class="acts">
      {state === null ? <p class="quiet">Its phase is unknown: no worker answers.</p> : <Progress state={state} />}
      {state?.nextPoll && <Act viewer={viewer} action={`${address}/poll-now`} label="Poll now" />}
      <Act viewer={viewer} action={`${address}/cancel`} label="Cancel the export …" fields={{ run: runId }} />
    </div>
  );
}

function Progress({ state }: { state: ExportState }) {
  const { phase, progress, nextPoll, download, version, parameters, unauthorized } = state;
  const percent = progress?.percent ?? null;
  return (
    <Facts
      facts={[
        ['phase', <span class="state wait">{phase}</span>],
        unauthorized !== null &&
          unauthorized !== undefined && ['key', <span class="state bad">refused by the service</span>],
        percent !== null && [
          'progress',
          <>
            <progress max={100} value={Math.floor(percent)} aria-label="Progress" /> {`${Math.floor(percent)}\u00a0%`}
          </>,
        ],
        progress !== null && ['running for', spanText(Date.now() - progress.startedAt)],
        progress?.pageCount != null && ['pages', countText(progress.pageCount)],
        progress !== null && ['polled', counted(progress.polls, 'time')],
        nextPoll !== null && [
          'next poll',
          <>
            <When at={nextPoll.at} /> {`(${nextPoll.reason})`}
          </>,
        ],
        download !== null && ['download', transferFacts(download).join(', ')],
        parameters.rollback !== undefined
          ? ['rollback to', parameters.rollback]
          : version !== null && ['version', version],
      ]}
    />
  );
}

function Approval({ viewer, site, approval }: { viewer: Viewer; site: KnownSite; approval: AwaitedApproval }) {
  const { version, since, expiresAt, changes } = approval;
  const address = siteAddress(site.org, site.domain);
  return (
    <section aria-labelledby="approval-title">
      <h2 id="approval-title">Waits for approval</h2>
      <div class="acts">
        <Facts
          facts={[
            ['version', version],
            [
              'waits',
              <>
                since <When at={since} />, at most until <When at={expiresAt} />
              </>,
            ],
            ['changes', changesText(changes)],
          ]}
        />
        <div class="changes">
          {(['added', 'removed', 'changed', 'moved'] as const).map(
            (kind) =>
              changes.listed[kind].length > 0 && (
                <details id={`pages-${kind}`} open>
                  <summary>{`${counted(changes.pages[kind], 'page')} ${kind}`}</summary>
                  <ul>
                    {changes.listed[kind].map((path) => (
                      <li>
                        <code>
                          <Foreign text={path} />
                        </code>
                      </li>
                    ))}
                  </ul>
                </details>
              ),
          )}
        </div>
        <Act viewer={viewer} action={`${address}/approve`} label="Approve" fields={{ version }} first />
        <Act viewer={viewer} action={`${address}/reject`} label="Reject …" fields={{ version }}>
          <Reason id="reject-reason" label="Why it is rejected" />
        </Act>
      </div>
    </section>
  );
}

function Reason({ id, label }: { id: string; label: string }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="text" name="reason" maxlength={longestReason} autocomplete="off" />
    </div>
  );
}

function Hold({ viewer, site, stored }: { viewer: Viewer; site: KnownSite; stored: StoredSite | null }) {
  if (stored === null || stored.current === null || !viewer.mayAct) return null;
  const address = siteAddress(site.org, site.domain);
  return (
    <section aria-labelledby="hold-title">
      <h2 id="hold-title">{stored.hold === null ? 'Hold' : 'Held'}</h2>
      {stored.hold === null ? (
        <Act viewer={viewer} action={`${address}/hold`} label="Hold at this version">
          <Reason id="hold-reason" label="Why the site stays as it is" />
        </Act>
      ) : (
        <Act viewer={viewer} action={`${address}/release`} label="Release" />
      )}
    </section>
  );
}

interface Kept {
  viewer: Viewer;
  site: KnownSite;
  stored: StoredSite | null;
  /** The version that waits for approval; null for none. */
  waiting: string | null;
}

function Versions({ viewer, site, stored, waiting }: Kept) {
  if (stored === null) return null;
  const address = siteAddress(site.org, site.domain);
  return (
    <section aria-labelledby="versions-title">
      <h2 id="versions-title">Kept versions</h2>
      {stored.versions.length === 0 ? (
        <p class="quiet">None yet.</p>
      ) : (
        <div class="scroll">
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">version</th>
                <th scope="col">published</th>
                <th scope="col">content</th>
                <th scope="col">
                  <span class="unseen">roll back</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {stored.versions.map(({ version, publishedAt, pages, bytes }) => (
                <tr>
                  <th scope="row">{version}</th>
                  <td data-name="published">
                    <When at={publishedAt} />
                  </td>
                  <td data-name="content">{`${counted(pages, 'page')}, ${sizeText(bytes)}`}</td>
                  <td data-name="">
                    {version === stored.current ? (
                      <span class="state good">in service</span>
                    ) : version === waiting ? (
                      <span class="state wait">waits for approval</span>
                    ) : (
                      <Act
                        viewer={viewer}
                        action={`${address}/rollback`}
                        label="Roll back …"
                        fields={{ version }}
                        small
                      >
                        <Reason id={`reason-${version}`} label="Why" />
                      </Act>
                    )}
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

function History({ runs }: { runs: SiteFacts['runs'] }) {
  if (runs === null) return null;
  return (
    <section aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      {runs.length === 0 ? (
        <p class="quiet">No export has ended yet.</p>
      ) : (
        <div class="scroll">
          <table class="cards">
            <thead>
              <tr>
                <th scope="col">outcome</th>
                <th scope="col">ended</th>
                <th scope="col">version</th>
                <th scope="col">why</th>
              </tr>
            </thead>
            <tbody>
              {runs.map(({ finishedAt, outcome, version, detail }) => (
                <tr>
                  <th scope="row" class={bad.has(outcome) ? 'state bad' : undefined}>
                    {outcome}
                  </th>
                  <td data-name="ended">
                    <When at={finishedAt} />
                  </td>
                  <td data-name="version">{version ?? '–'}</td>
                  <td data-name="why">
                    <Foreign text={whyEnded(JSON.parse(detail) as EndDetail)} />
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

const bad: ReadonlySet<string> = new Set(['failed', 'rejected', 'rollout-failed']);
