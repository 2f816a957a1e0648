import { describe, expect, it } from 'vitest';
import { readJobStatus, readStartedJob } from '../../src/service/job-answer.ts';

describe('what enters the history of an export', () => {
  it('is a status of at most 100 characters, without control characters', () => {
    const status = `odd \u001b[2J${'x'.repeat(10_000)}`;
    const job = readJobStatus(JSON.stringify({ jobId: 'job_1', status }), 'job_1', []);
    expect(job.status.length).toBeLessThanOrEqual(101);
    expect(job.status).not.toContain('\u001b');
    expect(job.state).toBe('running');
  });

  it.each(['x'.repeat(201), 'job\u001b[2J'])('is no id like %j', (jobId) => {
    expect(() => readStartedJob(JSON.stringify({ jobId, status: 'queued' }), [])).toThrow('jobId: longer than');
  });
});
