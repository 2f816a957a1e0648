import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Exchange, readBody, sendError, sendJson } from './exchange.ts';
import type { EntryChange } from './feedback/project-feedback.ts';
import type { Operations } from './operations.ts';
import { collectStats } from './stats.ts';
import type { World } from './world.ts';

const bodyLimit = 16_777_216;

/**
 * The sandbox's own endpoints under `/control/`, for tests in other processes: from this machine only, without a key,
 * not logged and without faults.
 *
 * GET `faults`, `log`, `stats`, `links` (every secret of a link), `truth?project=…` (JSON array);
 * POST `faults` (a part of them), `entries/add` `{project, count?, createdAt?, source?, status?, fields?, raw?}`,
 * `entries/change` `{project, changes: [{id, status?, fields?}]}`, `entries/delete` `{project, ids}`,
 * `revision` `{domain, revision?}`, `replace` `{jobId, file?}`.
 */
export async function handleControl(world: World, operations: Operations, exchange: Exchange): Promise<void> {
  const { req, url } = exchange;
  if (!isThisMachine(req.socket.remoteAddress)) return sendError(exchange, 403, 'Only from this machine');
  const name = url.pathname.slice('/control/'.length);
  if (req.method === 'GET') return answerQuestion(world, operations, exchange, name);
  if (req.method !== 'POST') return sendError(exchange, 405, 'Only GET and POST are allowed here');
  const body = await readBody(req, bodyLimit);
  if (body === null) return sendError(exchange, 413, 'The body is too large');
  try {
    const answer = await carryOut(world, operations, name, JSON.parse(body.toString() || '{}'));
    if (answer === undefined) return sendError(exchange, 404, `There is no operation called ${name}`);
    sendJson(exchange, 200, answer);
  } catch (error) {
    sendError(exchange, 400, error instanceof Error ? error.message : 'The request failed');
  }
}

function isThisMachine(address: string | undefined): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address ?? '');
}

async function answerQuestion(world: World, operations: Operations, exchange: Exchange, name: string): Promise<void> {
  switch (name) {
    case 'faults':
      return sendJson(exchange, 200, world.faults.values);
    case 'stats':
      return sendJson(exchange, 200, collectStats(world));
    case 'links':
      return sendJson(exchange, 200, world.links.secrets);
    case 'log':
      return sendList(exchange, world.log.entries);
    case 'truth': {
      const project = exchange.url.searchParams.get('project') ?? '';
      if (!world.feedback.has(project)) return sendError(exchange, 404, 'There is no such project');
      return sendList(exchange, operations.truth(project));
    }
    default:
      return sendError(exchange, 404, `There is nothing called ${name}`);
  }
}

/** Streams a JSON array item by item, so that long ones need little memory. */
async function sendList({ res }: Exchange, items: Iterable<unknown>): Promise<void> {
  function* text(): Generator<string> {
    let before = '[';
    for (const item of items) {
      yield `${before}${JSON.stringify(item)}`;
      before = ',\n';
    }
    yield before === '[' ? '[]' : ']';
  }
  res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
  await pipeline(Readable.from(text()), res);
}

async function carryOut(world: World, operations: Operations, name: string, order: unknown): Promise<unknown> {
  const { project, domain, jobId, changes, ids, ...rest } = asRecord(order);
  switch (name) {
    case 'faults':
      world.faults.set(asRecord(order));
      return world.faults.values;
    case 'entries/add':
      return { ids: operations.addEntries(asText(project, 'project'), rest) };
    case 'entries/change':
      operations.changeEntries(asText(project, 'project'), asList(changes, 'changes').map(asChange));
      return {};
    case 'entries/delete':
      operations.deleteEntries(
        asText(project, 'project'),
        asList(ids, 'ids').map((id) => asText(id, 'id')),
      );
      return {};
    case 'revision': {
      const revision = rest.revision === undefined ? undefined : Number(rest.revision);
      return { revision: operations.publishRevision(asText(domain, 'domain'), revision) };
    }
    case 'replace': {
      const file = rest.file === undefined ? undefined : asText(rest.file, 'file');
      await operations.replaceObject(asText(jobId, 'jobId'), file);
      return {};
    }
    default:
      return undefined;
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('a JSON object is needed');
  return { ...value };
}

function asText(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new Error(`${name} must be text`);
  return value;
}

function asList(value: unknown, name: string): unknown[] {
  if (!Array.isArray(value)) throw new Error(`${name} must be a list`);
  return value;
}

function asChange(value: unknown): EntryChange {
  const { id, status, fields } = asRecord(value);
  return {
    id: asText(id, 'id'),
    ...(status === undefined ? {} : { status: asText(status, 'status') }),
    ...(fields === undefined ? {} : { fields: asRecord(fields) }),
  };
}
