import { setTimeout as sleep } from 'node:timers/promises';
import { authorize } from '../authorize.ts';
import {
  type Exchange,
  pathSegments,
  reset,
  send,
  sendError,
  sendGatewayError,
  sendHalf,
  sendJson,
  sendSlowly,
} from '../exchange.ts';
import type { Organization } from '../organizations.ts';
import type { World } from '../world.ts';
import { type FeedbackPage, feedbackPage } from './feedback-page.ts';
import { readFeedbackQuery } from './feedback-query.ts';
import type { ProjectFeedback } from './project-feedback.ts';

type GatewayError = readonly [status: number, title: string];

const gatewayErrors: readonly [GatewayError, ...GatewayError[]] = [
  [502, 'Bad Gateway'],
  [503, 'Service Temporarily Unavailable'],
  [504, 'Gateway Time-out'],
];

/**
 * The analytics area (service-interface.md): `feedback`, and `views` as another endpoint with the same limit. A request
 * counts when it arrives, whatever the answer, except for 401, early resets and, unless `countRejected`, 429.
 */
export async function handleAnalytics(world: World, exchange: Exchange): Promise<void> {
  const { faults } = world;
  const { log } = exchange;
  const organization = authorize(world, exchange);
  if (organization === null) return;
  if (faults.strikes('resets', 'resetRate')) return reset(exchange, 'reset');
  if (!admit(world, exchange, organization)) return;

  if (faults.values.slowMs > 0) await sleep(faults.values.slowMs, undefined, { signal: world.stop });
  if (faults.strikes('gatewayErrors', 'gatewayRate')) {
    const [status, title] = faults.choose(gatewayErrors);
    log.fault = 'gateway';
    return sendGatewayError(exchange, status, title);
  }
  if (faults.strikes('errors', 'errorRate')) {
    log.fault = 'error';
    return sendError(exchange, 500, 'Something went wrong on our side');
  }

  const [, , projectId = '', endpoint = '', ...rest] = pathSegments(exchange.url) ?? [];
  const project = organization.projects.some(({ id }) => id === projectId) ? world.feedback.get(projectId) : undefined;
  log.projectId = projectId;
  if (rest.length > 0 || (endpoint !== 'feedback' && endpoint !== 'views')) {
    return sendError(exchange, 404, 'There is no such endpoint');
  }
  if (exchange.req.method !== 'GET') return sendError(exchange, 405, 'Only GET is allowed here');
  if (project === undefined) return sendError(exchange, 404, 'There is no such project');
  if (endpoint === 'views') return sendViews(world, exchange, project);
  return sendFeedback(world, exchange, project);
}

/** Counts the request, or answers 429. */
function admit(world: World, exchange: Exchange, organization: Organization): boolean {
  const { settings, faults, clock } = world;
  const window = world.windows.get(organization.id);
  const now = exchange.log.atMono;
  const forced = faults.take('force429');
  const admitted = !forced && (window?.hasRoom(now) ?? true);
  exchange.log.counted = admitted || settings.countRejected;
  if (exchange.log.counted) window?.count(now);
  if (admitted) return true;

  if (forced) exchange.log.fault = 'force429';
  const waitMs = forced ? faults.values.force429WaitMs : (window?.untilNextFree(now) ?? 0);
  const form = faults.values.retryAfter;
  // Both forms have whole seconds only: round up, never promise a moment that is too early.
  if (form === 'seconds') exchange.res.setHeader('Retry-After', Math.max(1, Math.ceil(waitMs / 1_000)));
  if (form === 'date') {
    const moment = Math.ceil((clock.serviceNow() + waitMs) / 1_000) * 1_000;
    exchange.res.setHeader('Retry-After', new Date(moment).toUTCString());
  }
  sendError(exchange, 429, 'Too many analytics requests');
  return false;
}

async function sendFeedback(world: World, exchange: Exchange, project: ProjectFeedback): Promise<void> {
  const { request, problems } = readFeedbackQuery(exchange.url.searchParams, world.settings);
  if (request === null) return sendError(exchange, 400, 'Invalid query parameters', problems);
  if (request.cursor !== null) churn(world, project);
  const result = feedbackPage(project, request, {
    codec: world.cursors,
    settings: world.settings,
    faults: world.faults.values,
    now: world.clock.now(),
  });
  if ('problem' in result) return sendError(exchange, 400, 'Invalid query parameters', [result.problem]);
  if (world.faults.take('emptyAnswers')) {
    exchange.log.fault = 'emptyAnswers';
    return sendPage(world, exchange, { feedback: [], nextCursor: null, hasMore: false });
  }
  return sendPage(world, exchange, result.page);
}

/** Adds and deletes entries while a client reads. */
function churn({ faults, clock }: World, project: ProjectFeedback): void {
  const { churnAdded, churnDeleted } = faults.values;
  if (churnAdded > 0) project.add({ count: churnAdded }, clock.serviceNow());
  for (let left = churnDeleted; left > 0; left--) project.deleteAt(faults.below(project.size));
}

/** Sends a page the way the faults want it. */
async function sendPage(world: World, exchange: Exchange, page: FeedbackPage): Promise<void> {
  const { faults, stop } = world;
  const text = JSON.stringify(page);
  if (faults.strikes('resetsAfter', 'resetAfterRate')) return reset(exchange, 'resetAfter');
  if (faults.take('cutBody')) {
    exchange.log.fault = 'cutBody';
    return sendHalf(exchange, text);
  }
  if (faults.take('badJson')) {
    exchange.log.fault = 'badJson';
    return send(exchange, 200, 'application/json; charset=utf-8', text.slice(0, Math.floor(text.length / 2)));
  }
  if (faults.values.slowBody > 0) return sendSlowly(exchange, text, faults.values.slowBody, stop);
  return send(exchange, 200, 'application/json; charset=utf-8', text);
}

/** What other clients request: it only uses up the limit. */
function sendViews(world: World, exchange: Exchange, project: ProjectFeedback): void {
  if (world.faults.strikes('resetsAfter', 'resetAfterRate')) reset(exchange, 'resetAfter');
  else sendJson(exchange, 200, { views: [{ path: '/', count: project.size }], nextCursor: null, hasMore: false });
}
