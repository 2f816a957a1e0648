import type { Faults } from '../faults.ts';
import type { JobState } from './jobs.ts';

const statusWords: Readonly<Record<string, string>> = { queued: 'waiting', running: 'rendering' };

/** The job object as it is sent, with unusual shapes if faults ask for them. */
export function jobView(state: JobState, faults: Readonly<Faults>): Record<string, unknown> {
  const status = faults.statusWords ? (statusWords[state.status] ?? state.status) : state.status;
  const live = { ...progressView(state, faults.progressShape), pageCount: state.pageCount };
  if (faults.missingFields) {
    return state.status === 'running' ? { status, ...live } : { status };
  }
  return {
    jobId: state.jobId,
    status,
    ...live,
    createdAt: new Date(state.createdAt).toISOString(),
    updatedAt: new Date(state.updatedAt).toISOString(),
    ...(state.status === 'failed' ? { error: state.error } : {}),
  };
}

/** The answer to the start of a job. */
export function startView(state: JobState, faults: Readonly<Faults>): Record<string, unknown> {
  return faults.missingFields ? { jobId: state.jobId } : jobView(state, faults);
}

function progressView({ fraction, pageCount, pages }: JobState, shape: Faults['progressShape']): object {
  const percent = Math.floor(fraction * 100);
  switch (shape) {
    case 'number':
      return { progress: percent };
    case 'percent-text':
      return { progress: `${percent}%` };
    case 'fraction':
      return { progress: percent / 100 };
    case 'object':
      return { progress: { done: pageCount, total: pages } };
    case 'absent':
      return {};
  }
}
