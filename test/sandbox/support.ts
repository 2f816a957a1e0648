import { onTestFinished } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../sandbox/index.ts';

/** A sandbox that is stopped after the test. */
export async function sandboxWith(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ entries: 120, jobSeconds: 0, ...options });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

interface Page {
  feedback: Record<string, unknown>[];
  nextCursor: string | null;
  hasMore: boolean;
}

type Query = Record<string, string | number>;

/** The body of an answer, believed to be what the test expects. */
export async function jsonOf<Body = Record<string, unknown>>(response: Response): Promise<Body> {
  return (await response.json()) as Body;
}

/** A GET below the API's address with the key of the first organization. */
export function get(sandbox: Sandbox, path: string, key = sandbox.apiKey): Promise<Response> {
  return fetch(`${sandbox.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
}

export function getFeedback(sandbox: Sandbox, query: Query = {}, project = 'prj_1'): Promise<Response> {
  const text = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return get(sandbox, `/v1/analytics/${project}/feedback?${text}`);
}

export async function getPage(sandbox: Sandbox, query: Query = {}): Promise<Page> {
  const response = await getFeedback(sandbox, query);
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return jsonOf(response);
}

/** All entries of a query, page by page, as the interface says: while `hasMore` is true. */
export async function getAll(sandbox: Sandbox, query: Query = {}): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  let page = await getPage(sandbox, query);
  for (;;) {
    all.push(...page.feedback);
    if (!page.hasMore) return all;
    page = await getPage(sandbox, { ...query, cursor: page.nextCursor ?? '' });
  }
}

export function post(sandbox: Sandbox, path: string, body?: unknown): Promise<Response> {
  return fetch(`${sandbox.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.apiKey}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
}

export function startJob(sandbox: Sandbox, more: Record<string, unknown> = {}): Promise<Response> {
  return post(sandbox, '/v1/static-export/jobs', { domain: 'docs.acme.example', ...more });
}

/** The id of a job just started. */
export async function startedJob(sandbox: Sandbox, more: Record<string, unknown> = {}): Promise<string> {
  return (await jsonOf<{ jobId: string }>(await startJob(sandbox, more))).jobId;
}

export async function getJob(sandbox: Sandbox, jobId: string): Promise<Record<string, unknown>> {
  return jsonOf(await get(sandbox, `/v1/static-export/jobs/${jobId}`));
}

/** Polls until the job has one of the wanted states, and gives it as served. */
export async function waitForJob(
  sandbox: Sandbox,
  jobId: string,
  ...wanted: string[]
): Promise<Record<string, unknown>> {
  for (;;) {
    const job = await getJob(sandbox, jobId);
    if (wanted.includes(String(job.status))) return job;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

interface Bundle {
  jobId: string;
  bundleUrl: string;
  sizeBytes: number;
  expiresAt: string;
}

export async function getBundle(sandbox: Sandbox, jobId: string): Promise<Bundle> {
  return jsonOf(await post(sandbox, `/v1/static-export/jobs/${jobId}/bundle`));
}

/** Runs an export to its end and gives its link. */
export async function exportSite(sandbox: Sandbox, more: Record<string, unknown> = {}): Promise<Bundle> {
  const jobId = await startedJob(sandbox, more);
  await waitForJob(sandbox, jobId, 'completed');
  return getBundle(sandbox, jobId);
}
