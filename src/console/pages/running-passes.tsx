import { waitText } from '../../budget/rules/budget-text.ts';
import { counted } from '../../rules/quantities.ts';
import type { SyncState } from '../../feedback/rules/sync.ts';
import { visible } from '../../feedback/report/html.ts';
import type { KnownProject } from '../readings/console-reader.ts';
import type { ProjectFacts } from '../readings/project-facts.ts';
import { Act, DoneAt, Facts, projectAddress, When } from './parts.tsx';
import { Retries } from './retries.tsx';
import type { Viewer } from './viewer.ts';

const passes = ['incremental', 'review', 'sweep'] as const;

interface Running {
  viewer: Viewer;
  project: KnownProject;
  running: ProjectFacts['running'];
}

/** The passes that run, and a form that starts one. */
export function RunningPasses({ viewer, project: { org, project }, running }: Running) {
  const address = projectAddress(org, project);
  return (
    <div class="acts">
      {running === null && <p class="quiet">unknown</p>}
      {running?.length === 0 && <p class="quiet">Nothing runs.</p>}
      {running?.map(({ pass, runId, state, retries }) => (
        <div class="acts">
          <Progress pass={pass} state={state} />
          <Retries retries={retries} />
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
  );
}

function Progress({ pass, state }: { pass: string; state: SyncState | null }) {
  if (state === null) return <p>{`${pass}: running; its progress is unknown, no worker answers`}</p>;
  const { phase, progress, waiting, forecast } = state;
  return (
    <Facts
      facts={[
        ['pass', pass],
        [
          'phase',
          <span class={phase === 'unauthorized' ? 'state bad' : 'state wait'}>{phase.replaceAll('-', ' ')}</span>,
        ],
        progress !== null && [
          'so far',
          `${counted(progress.pages, 'page')}, ${counted(progress.entries.seen, 'entry', 'entries')}`,
        ],
        waiting !== null && [
          'waits',
          <>
            until <When at={waiting.until} />
            {`: ${waitText[waiting.reason]}, place ${waiting.place}`}
            {waiting.behind.length > 0 && `, behind ${waiting.behind.map(visible).join(', ')}`}
          </>,
        ],
        forecast !== null && ['done', <DoneAt forecast={forecast} />],
      ]}
    />
  );
}
