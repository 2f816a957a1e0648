import type { ExportRunRow } from '../../feedback/store/run-records.ts';
import { spanText } from '../../rules/details-text.ts';
import { type EndDetail, isBadEnd, whyEnded } from '../../exports/rules/export-outcome.ts';
import type { ExportState } from '../../exports/rules/site-export.ts';
import { transferFacts } from '../../exports/rules/transfer.ts';
import { counted } from '../../rules/quantities.ts';
import type { KnownSite } from '../readings/console-reader.ts';
import type { SiteFacts } from '../readings/site-facts.ts';
import { Act, Facts, siteAddress, When } from './parts.tsx';
import { Retries } from './retries.tsx';
import { Outcome, Why } from './run-end.tsx';
import type { Viewer } from './viewer.ts';

/** The export that runs, as it goes. */
export function Running({
  viewer,
  site,
  facts: { running, runs, troubles },
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
        {runs?.[0] !== undefined && <LastRun run={runs[0]} />}
        <Act viewer={viewer} action={`${address}/start`} label="Start an export" first>
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
      {state === null ? <p class="quiet">Its phase is unknown: no worker answers.</p> : <Progress state={state} />}
      <Retries retries={retries} />
      {state?.nextPoll && <Act viewer={viewer} action={`${address}/poll-now`} label="Poll now" />}
      <Act
        viewer={viewer}
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
  const { phase, progress, nextPoll, download, version, parameters, unauthorized } = state;
  const percent = progress?.percent ?? null;
  return (
    <Facts
      facts={[
        ['phase', <span class="state wait">{phase.replaceAll('-', ' ')}</span>],
        unauthorized !== null &&
          unauthorized !== undefined && ['key', <span class="state bad">refused by the service</span>],
        percent !== null && [
          'progress',
          <>
            <progress max={100} value={Math.floor(percent)} aria-label="Progress" /> {`${Math.floor(percent)}\u00a0%`}
          </>,
        ],
        progress !== null && ['running for', spanText(Date.now() - progress.startedAt)],
        progress?.pageCount != null && ['exported', `${counted(progress.pageCount, 'page')}, as the service counts`],
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
