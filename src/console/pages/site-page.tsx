import type { Child } from 'hono/jsx';
import { observedText } from '../../exports/rules/rollout-steps.ts';
import {
  type EndDetail,
  type ExportState,
  isBadEnd,
  transferFacts,
  whyEnded,
} from '../../exports/rules/site-export.ts';
import { visible } from '../../feedback/report/figure.ts';
import type { ExportRunRow } from '../../feedback/store/run-records.ts';
import { counted, sizeText, spanText } from '../../rules/text.ts';
import type { AuditEntry } from '../../runs/rules/audit.ts';
import type { KnownSite, SiteFacts, StoredSite } from '../readings/console-reader.ts';
import { Approval } from './approval-section.tsx';
import { auditWords } from './audit-page.tsx';
import { Page } from './layout.tsx';
import {
  Act,
  changesAddress,
  Facts,
  Foreign,
  Health,
  Outcome,
  previewAddress,
  Reason,
  Retries,
  Section,
  siteAddress,
  Table,
  Troubles,
  useMayAct,
  Version,
  When,
  Why,
} from './parts.tsx';

/** Something that happened to a site. */
interface Happened {
  at: string;
  what: Child;
  version: string | null;
  /** Null for what no person did by hand. */
  who: string | null;
  why: Child;
}

/** How exports ended and what people did, newest first, one line each. */
function History({
  runs,
  auditEntries,
}: {
  runs: readonly ExportRunRow[] | null;
  auditEntries: readonly AuditEntry[] | null;
}) {
  if (runs === null && auditEntries === null) return null;
  const rows = [...(runs ?? []).map(ended), ...(auditEntries ?? []).map(done)].sort((a, b) => b.at.localeCompare(a.at));
  return (
    <Section id="history" title="History">
      {rows.length === 0 ? (
        <p class="quiet">No export has ended yet, and no person did anything by hand.</p>
      ) : (
        <Table
          caption="History, newest first"
          look="dense log"
          rows={rows}
          columns={[
            ['what', ({ what }) => what],
            ['when', ({ at }) => <When at={at} />],
            ['version', ({ version }) => <Version name={version} />],
            ['who', ({ who }) => (who === null ? <span class="quiet">docferry</span> : <Foreign text={who} />)],
            ['why', ({ why }) => why],
          ]}
        />
      )}
    </Section>
  );
}

function ended({ finishedAt, outcome, version, detail }: ExportRunRow): Happened {
  const end = JSON.parse(detail) as EndDetail;
  const why = whyEnded(end);
  return {
    at: finishedAt,
    what: <Outcome outcome={outcome} isBad={isBadEnd(outcome, end)} />,
    version,
    who: null,
    why: why !== '' && <OneLine text={why} child={<Why reason={why} />} />,
  };
}

function done({ at, action, who, reason, detail }: AuditEntry): Happened {
  const { version = null } = JSON.parse(detail) as { version?: string | null };
  return {
    at,
    what: auditWords[action] ?? action,
    version,
    who,
    why: reason !== null && <OneLine text={reason} child={<Foreign text={reason} />} />,
  };
}

/** Hovering shows what the line cuts off. */
function OneLine({ text, child }: { text: string; child: Child }) {
  return <span title={visible(text)}>{child}</span>;
}

/** Holds the site at its version, or releases it. */
function Hold({ site, stored }: { site: KnownSite; stored: StoredSite }) {
  if (!useMayAct() || (stored.current === null && stored.hold === null)) return null;
  const address = siteAddress(site.org, site.domain);
  if (stored.hold === null) {
    return (
      <details id="hold">
        <summary>Hold this version …</summary>
        <p class="fine">While a site is held, exports go on and are published, but put nothing into service.</p>
        <Act action={`${address}/hold`} label="Hold at this version">
          <Reason id="hold-reason" label="Why the site stays as it is" />
        </Act>
      </details>
    );
  }
  return (
    <>
      <p class="fine">
        {stored.hold.refused
          ? `A check refused ${stored.hold.refused.version}. Other content ends the hold; after the release the next export tries this content again.`
          : 'Exports go on and are published, but put nothing into service. When the hold ends, what is in service stays until the next export.'}
      </p>
      <Act action={`${address}/release`} label="End the hold" />
    </>
  );
}

/** The export that runs, as it goes. */
function Running({ site, facts: { running, runs, troubles } }: { site: KnownSite; facts: SiteFacts }) {
  const address = siteAddress(site.org, site.domain);
  if (running === null) {
    return (
      <div class="acts">
        <p class="quiet">{troubles.length > 0 ? 'unknown' : 'Nothing runs.'}</p>
        {runs?.[0] !== undefined && <LastRun run={runs[0]} />}
        <Act action={`${address}/start`} label="Start an export" first>
          <label class="tick">
            <input id="force" type="checkbox" name="force" value="yes" /> publish even if nothing changed
          </label>
        </Act>
      </div>
    );
  }
  const { state, runId, retries } = running;
  const rollback = state?.parameters.rollback;
  return (
    <div class="acts">
      {state === null ? <p class="quiet">Phase unknown: no worker answers.</p> : <Progress state={state} />}
      <Retries retries={retries} />
      {state?.nextPoll && <Act action={`${address}/poll-now`} label="Poll now" />}
      <Act
        action={`${address}/cancel`}
        label={rollback === undefined ? 'Cancel the export …' : 'Cancel the rollback …'}
        fields={{ run: runId, ...(rollback !== undefined && { rollback }) }}
      />
    </div>
  );
}

/** How the last run ended, and why: what a reader comes for after a failure. */
function LastRun({ run: { outcome, finishedAt, detail } }: { run: ExportRunRow }) {
  const end = JSON.parse(detail) as EndDetail;
  const why = whyEnded(end);
  return (
    <Facts
      facts={[
        [
          'last run',
          <>
            <Outcome outcome={outcome} isBad={isBadEnd(outcome, end)} /> <When at={finishedAt} />
          </>,
        ],
        why !== '' && ['why', <Why reason={why} />],
      ]}
    />
  );
}

function Progress({ state }: { state: ExportState }) {
  const { phase, progress, nextPoll, download, version, parameters, unauthorized, approval } = state;
  const isDecided = phase === 'awaiting-approval' && !approval;
  const percent = progress?.percent ?? null;
  return (
    <Facts
      facts={[
        [
          'phase',
          <span class="state wait">{isDecided ? 'carrying out the decision' : phase.replaceAll('-', ' ')}</span>,
        ],
        unauthorized !== null &&
          unauthorized !== undefined && ['key', <span class="state bad">refused by the service</span>],
        percent !== null && [
          'progress',
          <>
            <progress max={100} value={Math.floor(percent)} aria-label="Progress" /> {`${Math.floor(percent)}\u00a0%`}
          </>,
        ],
        progress !== null && ['running for', spanText(Date.now() - progress.startedAt)],
        progress?.pageCount != null && ['exported', `the service counts ${counted(progress.pageCount, 'page')}`],
        progress !== null && ['polled', counted(progress.polls, 'time')],
        nextPoll !== null && [
          'next poll',
          <>
            <When at={nextPoll.at} /> {`(${nextPoll.reason})`}
          </>,
        ],
        download !== null && ['download', transferFacts(download).join(', ')],
        parameters.rollback !== undefined
          ? ['rollback to', <Version name={parameters.rollback} />]
          : version !== null && ['version', <Version name={version} />],
      ]}
    />
  );
}

/** The version in service, and for each target the version rolled out and the version read back. */
function InService({ stored, runs }: { stored: StoredSite; runs: boolean }) {
  const { current, url, hold, targets } = stored;
  return (
    <div class="acts">
      <Facts
        facts={[
          [
            'version',
            current === null ? (
              'nothing yet'
            ) : (
              <>
                <Version name={current} />
                <NotOnTargets stored={stored} runs={runs} />
              </>
            ),
          ],
          hold !== null && [
            'held',
            <>
              {hold.refused?.version === hold.version && 'with nothing in service '}
              <When at={hold.since} lasting />
              {hold.reason !== null && (
                <>
                  {': '}
                  <Foreign text={hold.reason} />
                </>
              )}
            </>,
          ],
          hold !== null &&
            hold.waiting !== null && [
              'published meanwhile',
              <>
                <Version name={hold.waiting} />, not in service
              </>,
            ],
          url !== null && [
            'bundle',
            <a id="bundle-link" href={url} rel="noreferrer">
              {url}
            </a>,
          ],
        ]}
      />
      {targets.length > 0 && (
        <Table
          caption="Targets"
          rows={targets}
          columns={[
            [
              'target',
              ({ name, version, seen }) => (
                <>
                  <TargetHealth current={current} version={version} seen={seen} />
                  <Foreign text={name} />
                </>
              ),
            ],
            ['put there', ({ version }) => <Version name={version} />],
            ['read back', (target) => <Seen {...target} />],
            ['since', ({ seen }) => <When at={seen?.since ?? null} />],
          ]}
        />
      )}
    </div>
  );
}

type Target = StoredSite['targets'][number];

/** That a target lacks the version in service. While a run puts it there, that is no news. */
function NotOnTargets({ stored: { current, targets }, runs }: { stored: StoredSite; runs: boolean }) {
  const without = targets.filter(({ version }) => version !== current).length;
  if (without === 0 || runs) return null;
  const where = targets.length === 1 ? 'its target' : `${without} of ${targets.length} targets`;
  return <span class="state bad">{` not on ${where}`}</span>;
}

function TargetHealth({ current, version, seen }: { current: string | null } & Omit<Target, 'name'>) {
  if (version === null) return <Health look="none" text="nothing yet" />;
  if (seen?.runs === 'unknown') return <Health look="stale" text="unknown" />;
  if (seen !== null && seen.version !== version) return <Health look="drift" text="drifted" />;
  if (version !== current) return <Health look="wait" text="not what is in service" />;
  return <Health look={seen === null ? 'none' : 'good'} text={seen === null ? 'not read back yet' : 'as in service'} />;
}

function Seen({ version, seen }: Target) {
  if (seen === null) return <span class="quiet">not yet</span>;
  if (seen.runs !== 'version') return <Foreign text={observedText(seen)} />;
  return (
    <>
      <Version name={seen.version} />
      {seen.version !== version && <span class="fine"> drifted</span>}
    </>
  );
}

interface Kept {
  site: KnownSite;
  stored: StoredSite | null;
  /** Whether a run is under way. */
  runs: boolean;
  /** What a worker says of it; null for nothing. */
  state: ExportState | null;
}

/** What can be rolled back to. */
function Versions({ site, stored, runs, state }: Kept) {
  if (stored === null) return null;
  const address = siteAddress(site.org, site.domain);
  const waiting = state?.approval?.version;
  const underWay = state?.parameters.rollback ?? state?.version;
  // Newest first: lines above it are newer than the version in service.
  const names = stored.versions.map(({ version }) => version);
  const isNewer = (version: string) => names.indexOf(version) < names.indexOf(stored.current ?? '');
  return (
    <Section id="versions" title="Kept versions">
      {stored.versions.length === 0 ? (
        <p class="quiet">None yet.</p>
      ) : (
        <Table
          caption="Kept versions, newest first"
          look="dense"
          rows={stored.versions}
          columns={[
            ['version', ({ version }) => <Version name={version} />],
            ['published', ({ publishedAt }) => <When at={publishedAt} />],
            [
              'content',
              ({ pages, bytes }) => (
                <span title="Each HTML file counts as a page, the error page too; the service may count otherwise.">
                  {`${counted(pages, 'page')}, ${sizeText(bytes)}`}
                </span>
              ),
            ],
            [
              'state',
              ({ version }) =>
                version === stored.current ? (
                  <>
                    <span class="state good">in service</span>
                    <NotOnTargets stored={stored} runs={runs} />
                  </>
                ) : (
                  version === waiting && <span class="state wait">waits for approval</span>
                ),
            ],
            [
              '',
              ({ version }) => (
                <div class="row">
                  <a id={`preview-${version}`} href={previewAddress(site, version)}>
                    look at it
                  </a>
                  {version !== stored.current && (
                    <a id={`changes-${version}`} href={changesAddress(site, version)}>
                      what it changes
                    </a>
                  )}
                  {version !== stored.current && version !== underWay && (
                    <Act
                      action={`${address}/rollback`}
                      label={isNewer(version) ? 'Put into service …' : 'Roll back to this …'}
                      fields={{ version }}
                      small
                    />
                  )}
                </div>
              ),
            ],
          ]}
        />
      )}
    </Section>
  );
}

interface Site {
  site: KnownSite;
  facts: SiteFacts;
  /** Of the workflow in the Temporal UI; null when it is not known. */
  temporal: string | null;
}

/** All about one site, and what can be done with it. */
export function SitePage({ site, facts, temporal }: Site) {
  const { org, domain } = site;
  const { running, stored, troubles } = facts;
  const approval = running?.state?.approval ?? null;
  return (
    <Page title={domain} events={`/events?of=site&org=${encodeURIComponent(org)}&name=${encodeURIComponent(domain)}`}>
      <p class="under">{`Site of ${org}`}</p>
      <div id="now" data-live>
        <Troubles troubles={troubles} />
        {approval !== null && <Approval site={site} approval={approval} />}
        <div class="split">
          <Section id="service" title="In service">
            {stored === null ? (
              <p class="quiet">unknown</p>
            ) : (
              <div class="acts">
                <InService stored={stored} runs={running !== null} />
                <Hold site={site} stored={stored} />
              </div>
            )}
          </Section>
          <Section id="running" title="Running">
            <div class="acts">
              <Running site={site} facts={facts} />
              {temporal !== null && (running !== null || facts.runs?.length !== 0) && (
                <p>
                  <a id="temporal-link" href={temporal} rel="noreferrer">
                    The workflow in the Temporal UI
                  </a>
                </p>
              )}
            </div>
          </Section>
        </div>
      </div>
      <div id="versions" data-live>
        <Versions site={site} stored={stored} runs={running !== null} state={running?.state ?? null} />
        <History runs={facts.runs} auditEntries={facts.auditEntries} />
      </div>
    </Page>
  );
}
