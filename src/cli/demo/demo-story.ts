import { exportState, startExport } from '../../operations/exports.ts';
import { startSync, syncState } from '../../operations/syncs.ts';
import { handoverFor } from '../../temporal/temporal-connection.ts';
import type { ExportResult } from '../../exports/rules/site-export.ts';
import { counted } from '../../rules/quantities.ts';
import type { SyncInput, SyncResult } from '../../feedback/rules/sync.ts';
import { withFeedbackStore } from '../feedback-store-of.ts';
import { sandboxOrganization } from '../parts/sandbox-config.ts';
import { type Session, withTemporal } from '../session.ts';
import { waitInView } from '../waiting.ts';
import { exportStep } from '../terminal/export-step.ts';
import type { LiveView } from '../terminal/live-lines.ts';
import type { Output } from '../terminal/output.ts';
import { syncStep } from '../terminal/sync-step.ts';
import type { Stage } from './demo-stage.ts';

const { id: org, project, domain } = sandboxOrganization;

/** The results of the demo. */
export interface Told {
  export: ExportResult;
  feedback: SyncResult;
  /** A second export of the same site, which publishes nothing because nothing changed. */
  again: ExportResult;
  /** Entries that the sandbox serves. */
  served: number;
  /** Entries in the feedback store. */
  stored: number;
}

/** Exports a site while reading its feedback, then exports it again. */
export async function tellStory(output: Output, stage: Stage, interrupted: AbortSignal): Promise<Told> {
  const { config, sandbox } = stage;
  return withTemporal(config, async (session) => {
    const live = await output.startLive();
    try {
      const show = { output, session, live, interrupted };
      const [first, feedback] = await Promise.all([exportOnce(show, `export of ${domain}`), syncOnce(show)]);
      const again = await exportOnce(show, 'the same again');
      const counts = await withFeedbackStore(config, (store) => store.countEntries(org, project));
      return {
        export: first,
        feedback,
        again,
        served: [...sandbox.truth(project)].length,
        stored: counts.entries,
      };
    } finally {
      live.end();
    }
  });
}

interface Show {
  output: Output;
  session: Session;
  live: LiveView;
  interrupted: AbortSignal;
}

async function exportOnce({ output, session, live, interrupted }: Show, label: string): Promise<ExportResult> {
  const { client, config } = session;
  const { handle } = await startExport(
    client,
    config.temporal.taskQueue,
    { org, domain, parameters: {}, handover: handoverFor(config.temporal) },
    'join',
  );
  const result = await waitInView(
    output,
    session,
    live,
    {
      handle,
      label,
      readState: () => exportState(client, org, domain),
      stepOf: (state) => exportStep(state, Date.now(), output.paintNotes),
      timeoutMs: null,
      ...whileDemoRuns,
    },
    interrupted,
  );
  const { outcome, version } = result;
  const facts = version === null ? [] : [version];
  const text = [output.paintNotes.green(outcome), ...facts].join('  ');
  live.show(label, { key: 'done', text, line: [outcome, ...facts].join(', ') });
  return result;
}

async function syncOnce({ output, session, live, interrupted }: Show): Promise<SyncResult> {
  const { client, config } = session;
  const handover = handoverFor(config.temporal);
  const input: SyncInput = { org, project, pass: 'sweep', class: 'on-demand', handover };
  const label = `feedback of ${project}`;
  const result = await waitInView(
    output,
    session,
    live,
    {
      handle: await startSync(client, config.temporal.taskQueue, input),
      label,
      readState: () => syncState(client, input),
      stepOf: (state) => syncStep(state, Date.now(), output.paintNotes),
      timeoutMs: null,
      ...whileDemoRuns,
    },
    interrupted,
  );
  const counts = [counted(result.pages, 'page'), counted(result.entries.seen, 'entry', 'entries')];
  const text = [output.paintNotes.green('completed'), ...counts].join('  ');
  live.show(label, { key: 'done', text, line: ['completed', ...counts].join(', ') });
  return result;
}

/** An interrupted demo stops its Temporal too, so there is nothing to follow. */
const whileDemoRuns = { follow: 'docferry demo', cancel: 'Ctrl-C' };
