import type { StoredProject } from '../../feedback/figures/figure-store.ts';
import { forecastText } from '../../model/details-text.ts';
import { counted, countText } from '../../model/quantities.ts';
import type { SyncState } from '../../model/sync/sync.ts';
import { visible } from '../../report/html.ts';
import type { KnownProject } from '../readings/console-reader.ts';
import type { ProjectFacts } from '../readings/project-facts.ts';
import { Page } from './layout.tsx';
import { Act, Aged, Facts, Foreign, projectAddress, Troubles, When } from './parts.tsx';
import type { Viewer } from './viewer.ts';

interface Project {
  viewer: Viewer;
  project: KnownProject;
  facts: ProjectFacts;
  at: number;
  late: boolean;
}

const passes = ['incremental', 'review', 'sweep'] as const;

/** All about the feedback of one project. */
export function ProjectPage({ viewer, project: known, facts, at, late }: Project) {
  const { org, project, name } = known;
  const { running, stored, troubles } = facts;
  const address = projectAddress(org, project);
  return (
    <Page
      title={name ?? project}
      viewer={viewer}
      events={`/events?of=project&org=${encodeURIComponent(org)}&name=${encodeURIComponent(project)}`}
    >
      <p class="under">{name === null ? `Feedback of ${org}` : `Feedback of ${org}, project ${project}`}</p>
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
            <div class="acts">
              {running === null && <p class="quiet">unknown</p>}
              {running?.length === 0 && <p class="quiet">Nothing runs.</p>}
              {running?.map(({ pass, runId, state }) => (
                <div class="acts">
                  <Progress pass={pass} state={state} now={at} />
                  <Act
                    viewer={viewer}
                    action={`${address}/cancel`}
                    label={`Cancel the ${pass} …`}
                    fields={{ pass, run: runId }}
                  />
                </div>
              ))}
              <Act viewer={viewer} action={`${address}/sync`} label="Sync now" first>
                <div class="field">
                  <label for="pass">Pass</label>
                  <select id="pass" name="pass">
                    <option value="">the usual one</option>
                    {passes.map((pass) => (
                      <option value={pass}>{pass}</option>
                    ))}
                  </select>
                </div>
              </Act>
            </div>
          </section>
        </div>
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

function Progress({ pass, state, now }: { pass: string; state: SyncState | null; now: number }) {
  if (state === null) return <p>{`${pass}: running; its progress is unknown, no worker answers`}</p>;
  const { phase, progress, waiting, forecast } = state;
  return (
    <Facts
      facts={[
        ['pass', pass],
        ['phase', <span class={phase === 'unauthorized' ? 'state bad' : 'state wait'}>{phase}</span>],
        progress !== null && [
          'so far',
          `${counted(progress.pages, 'page')}, ${counted(progress.entries.seen, 'entry', 'entries')}`,
        ],
        waiting !== null && [
          'waits',
          <>
            until <When at={waiting.until} />
            {`: ${waiting.reason}, place ${waiting.place}`}
            {waiting.behind.length > 0 && `, behind ${waiting.behind.map(visible).join(', ')}`}
          </>,
        ],
        forecast !== null && ['done', forecastText(forecast, now)],
      ]}
    />
  );
}

function Passes({ stored }: { stored: StoredProject | null }) {
  if (stored === null) return null;
  return (
    <section aria-labelledby="passes-title">
      <h2 id="passes-title">Passes</h2>
      {stored.passes.length === 0 ? (
        <p class="quiet">None yet.</p>
      ) : (
        <div class="scroll">
          <table class="cards">
            <thead>
              <tr>
                {['pass', 'started', 'outcome', 'pages', 'seen', 'new', 'changed', 'deleted', 'why'].map((column) => (
                  <th scope="col">{column}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {stored.passes.map(({ pass, startedAt, outcome, pages, entries, error }) => (
                <tr>
                  <th scope="row">{pass}</th>
                  <td data-name="started">
                    <When at={startedAt} />
                  </td>
                  <td data-name="outcome">
                    <span class={outcome === 'failed' ? 'state bad' : 'state'}>{outcome}</span>
                  </td>
                  <td data-name="pages">{countText(pages)}</td>
                  <td data-name="seen">{countText(entries.seen)}</td>
                  <td data-name="new">{countText(entries.inserted)}</td>
                  <td data-name="changed">{countText(entries.updated)}</td>
                  <td data-name="deleted">{countText(entries.tombstoned)}</td>
                  <td data-name="why">{error !== null && <Foreign text={error} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
