import { authorize } from '../authorize.ts';
import { type Exchange, pathSegments, readBody, reset, sendError, sendJson } from '../exchange.ts';
import type { Organization } from '../organizations.ts';
import type { World } from '../world.ts';
import { jobView, startView } from './job-view.ts';
import type { Fate, JobState } from './jobs.ts';

const bodyLimit = 1_048_576;
const bareHost = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

interface StartRequest {
  domain: string;
  version: string | null;
  paths: string[] | null;
}

/** The static export area (service-interface.md, endpoints 2 to 4 and appendix). `storageUrl` is the origin of links. */
export async function handleExport(world: World, exchange: Exchange, storageUrl: string): Promise<void> {
  const organization = authorize(world, exchange);
  if (organization === null) return;
  if (organization.plan !== 'enterprise') {
    return sendError(exchange, 403, 'Static export requires an Enterprise plan');
  }
  const [, , area, jobId, action, ...rest] = pathSegments(exchange.url) ?? [];
  const { method } = exchange.req;
  if (area !== 'jobs' || rest.length > 0) return sendError(exchange, 404, 'There is no such endpoint');
  if (jobId === undefined) {
    return method === 'POST' ? startJob(world, exchange, organization) : wrongMethod(exchange, 'POST');
  }
  if (world.faults.take('exportErrors')) {
    exchange.log.fault = 'exportError';
    return sendError(exchange, 503, 'Static export is briefly unavailable');
  }
  const state = world.jobs.find(organization.id, jobId);
  if (action === undefined) {
    if (method !== 'GET') return wrongMethod(exchange, 'GET');
    if (state === null) return sendError(exchange, 404, 'There is no such job');
    return sendJson(exchange, 200, jobView(state, world.faults.values));
  }
  if (action !== 'bundle') return sendError(exchange, 404, 'There is no such endpoint');
  if (method !== 'POST') return wrongMethod(exchange, 'POST');
  if (state === null) return sendError(exchange, 404, 'There is no such job');
  return sendBundle(world, exchange, state, storageUrl);
}

function wrongMethod(exchange: Exchange, allowed: string): void {
  exchange.res.setHeader('Allow', allowed);
  sendError(exchange, 405, `Only ${allowed} is allowed here`);
}

async function startJob(world: World, exchange: Exchange, organization: Organization): Promise<void> {
  const { faults, sites, jobs } = world;
  if (faults.take('startErrors')) {
    exchange.log.fault = 'startError';
    return sendError(exchange, 503, 'Static export is briefly unavailable');
  }
  const body = await readBody(exchange.req, bodyLimit);
  if (body === null) return sendError(exchange, 413, 'The body is too large');
  const request = readStartRequest(exchange.req.headers['content-type'] ?? '', body);
  if (typeof request === 'string') return sendError(exchange, 400, request);

  const content = sites.published(organization.id, request.domain);
  if (content === null) return sendError(exchange, 404, 'There is no site with this domain');
  const unknown = request.paths?.find((path) => !sites.hasPage(request.domain, path));
  if (unknown !== undefined) return sendError(exchange, 400, 'paths names a page that is not published');

  const { version, paths } = request;
  const state = jobs.start(organization.id, { ...content, version, paths }, drawFate(world));
  if (faults.take('jobStartResets')) return reset(exchange, 'jobStartReset');
  sendJson(exchange, 202, startView(state, faults.values));
}

function drawFate({ faults }: World): Fate {
  if (faults.take('failJobs')) return 'fail';
  if (faults.take('vanishJobs')) return 'vanish';
  return faults.take('stuckJobs') ? 'stuck' : 'complete';
}

/** The request to start a job, or what is wrong with it. */
function readStartRequest(contentType: string, body: Buffer): StartRequest | string {
  if (!/^application\/json\s*(;|$)/i.test(contentType)) return 'Content-Type must be application/json';
  const parsed = parseJson(body);
  if (typeof parsed !== 'object' || parsed === null) return 'The body must be a JSON object';
  const { domain, version = null, paths = null }: Record<string, unknown> = { ...parsed };
  if (typeof domain !== 'string' || !bareHost.test(domain)) {
    return 'domain must be a bare host name, without scheme, path or trailing slash';
  }
  if (version !== null && (typeof version !== 'string' || version === '')) return 'version must be text';
  if (paths !== null && !isTextList(paths)) return 'paths must be a list of page paths';
  return { domain: domain.toLowerCase(), version, paths: paths?.map(withLeadingSlash) ?? null };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
}

function withLeadingSlash(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}

async function sendBundle(world: World, exchange: Exchange, state: JobState, storageUrl: string): Promise<void> {
  const { faults, objects, links, clock } = world;
  if (state.status !== 'completed') return sendError(exchange, 409, 'The job has not completed');
  const key = objects.keyOf(state.jobId);
  const { archiveFile, linkLifetimeMs, missingFields } = faults.values;
  const object = await (archiveFile === '' ? objects.get(key) : objects.substitute(key, archiveFile));
  const link = links.sign(storageUrl, key, clock.serviceNow(), linkLifetimeMs);
  if (missingFields) return sendJson(exchange, 200, { bundleUrl: link.url });
  sendJson(exchange, 200, {
    jobId: state.jobId,
    bundleUrl: link.url,
    sizeBytes: object?.size,
    expiresAt: new Date(link.expiresAt).toISOString(),
  });
}
