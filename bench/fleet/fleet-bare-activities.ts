import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { apiKeyOf, exportOrg } from './fleet-size.ts';

export type BareActivities = ReturnType<typeof createBareActivities>;

const startedSchema = z.object({ jobId: z.string() });
const jobSchema = z.object({ status: z.string(), progress: z.number() });
const bundleSchema = z.object({ bundleUrl: z.string() });
const pageSchema = z.object({ nextCursor: z.string().nullable() });

/** The requests to the service, one an activity. */
export function createBareActivities(serviceUrl: string) {
  const ask = async (org: string, path: string, order?: object) => {
    const headers = { authorization: `Bearer ${apiKeyOf(org)}`, 'content-type': 'application/json' };
    const request = order === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(order) };
    const response = await fetch(`${serviceUrl}/v1/${path}`, request);
    if (!response.ok) throw new Error(`the service answered ${response.status}`);
    return response.json();
  };
  const jobs = 'static-export/jobs';
  return {
    async startJob({ domain }: { domain: string }): Promise<{ jobId: string }> {
      return startedSchema.parse(await ask(exportOrg, jobs, { domain }));
    },
    async readJob({ jobId }: { jobId: string }): Promise<{ completed: boolean; percent: number }> {
      const { status, progress } = jobSchema.parse(await ask(exportOrg, `${jobs}/${jobId}`));
      return { completed: status === 'completed', percent: progress };
    },
    async download({ jobId }: { jobId: string }): Promise<void> {
      const { bundleUrl } = bundleSchema.parse(await ask(exportOrg, `${jobs}/${jobId}/bundle`, {}));
      const { body } = await fetch(bundleUrl);
      if (body === null) throw new Error('an empty bundle');
      const file = join(tmpdir(), `docferry-bench-${randomUUID()}`);
      await pipeline(Readable.fromWeb(body), createWriteStream(file));
      await rm(file);
    },
    async readPage(place: { org: string; project: string; cursor: string | null }): Promise<{ next: string | null }> {
      const query = new URLSearchParams({ limit: '100', ...(place.cursor === null ? {} : { cursor: place.cursor }) });
      const page = await ask(place.org, `analytics/${place.project}/feedback?${query}`);
      return { next: pageSchema.parse(page).nextCursor };
    },
  };
}
