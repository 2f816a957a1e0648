import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Exchange, send } from '../exchange.ts';
import type { World } from '../world.ts';
import { type ByteRange, readRange } from './byte-range.ts';
import type { StoredObject } from './objects.ts';

const chunkBytes = 524_288;
/** Time for written bytes to leave before a reset discards queued ones. */
const settleMs = 20;

/** How a download ends: complete, or after some bytes: broken off, or silent until the client goes away. */
interface Ending {
  afterBytes: number;
  kind: 'whole' | 'reset' | 'cut' | 'stall';
}

/** The object store (service-interface.md, appendix): presigned GET of archives, with the errors such stores send. */
export async function handleStorage(world: World, exchange: Exchange): Promise<void> {
  const { req, res, url, log } = exchange;
  const { faults, links, clock, objects } = world;
  if (log.hadAuthorization) {
    return refuse(exchange, 400, 'InvalidArgument', 'Only one auth mechanism allowed');
  }
  switch (links.check(req.method ?? '', url, clock.serviceNow())) {
    case 'unsigned':
      return refuse(exchange, 403, 'AccessDenied', 'Access Denied');
    case 'wrong-signature':
      return refuse(exchange, 403, 'SignatureDoesNotMatch', 'The request signature does not match');
    case 'expired':
      return refuse(exchange, 403, 'AccessDenied', 'Request has expired');
    case 'valid':
  }
  if (faults.take('storageErrors')) {
    log.fault = 'storageError';
    return refuse(exchange, 503, 'SlowDown', 'Please reduce your request rate.');
  }
  if (faults.values.storageRedirect !== '') {
    log.fault = 'storageRedirect';
    res.setHeader('Location', faults.values.storageRedirect);
    return refuse(exchange, 307, 'TemporaryRedirect', 'Please re-send this request to the specified endpoint.');
  }
  const object = await objects.get(url.pathname);
  if (object === undefined) return refuse(exchange, 404, 'NoSuchKey', 'The specified key does not exist.');
  return serve(world, exchange, object);
}

async function serve(world: World, exchange: Exchange, object: StoredObject): Promise<void> {
  const { req, res, log } = exchange;
  res.setHeader('ETag', object.etag);
  res.setHeader('Accept-Ranges', 'bytes');
  res.setHeader('Last-Modified', object.lastModified.toUTCString());
  if (!matches(req.headers['if-match'], object.etag)) {
    return refuse(exchange, 412, 'PreconditionFailed', 'At least one of the preconditions did not hold');
  }
  // If-Range is ignored, as by real object stores: a wrong one still gets 206.
  const range = world.faults.values.storageIgnoreRange ? null : readRange(req.headers.range, object.size);
  if (range === 'unsatisfiable') {
    res.setHeader('Content-Range', `bytes */${object.size}`);
    return refuse(exchange, 416, 'InvalidRange', 'The requested range is not satisfiable');
  }
  const part = range ?? { start: 0, end: object.size - 1 };
  log.status = range === null ? 200 : 206;
  res.writeHead(log.status, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': part.end - part.start + 1,
    ...(range === null ? {} : { 'Content-Range': `bytes ${part.start}-${part.end}/${object.size}` }),
  });
  const ending = drawEnding(world, exchange, part.end - part.start + 1);
  const sent = await stream(world, exchange, object, { ...part, end: part.start + ending.afterBytes - 1 });
  if (!sent || ending.kind === 'whole') return void res.end();
  if (ending.kind === 'stall') return void (await once(res, 'close', { signal: world.stop }));
  await sleep(settleMs, undefined, { signal: world.stop });
  if (ending.kind === 'reset') req.socket.resetAndDestroy();
  else req.socket.destroySoon();
}

function matches(ifMatch: string | undefined, etag: string): boolean {
  return ifMatch === undefined || ifMatch.split(',').some((wanted) => ['*', etag].includes(wanted.trim()));
}

function drawEnding({ faults, objects }: World, { url, log }: Exchange, length: number): Ending {
  const { replaceObjectAfter, storageResetEvery } = faults.values;
  if (replaceObjectAfter > 0 && replaceObjectAfter < length) {
    faults.set({ replaceObjectAfter: 0 });
    // A failure shows with the next request for the object.
    objects.replace(url.pathname).catch(() => undefined);
    log.fault = 'replaceObjectAfter';
    return { afterBytes: replaceObjectAfter, kind: 'reset' };
  }
  if (storageResetEvery > 0 && storageResetEvery < length) {
    log.fault = 'storageResetEvery';
    return { afterBytes: storageResetEvery, kind: 'reset' };
  }
  for (const [fault, kind] of [
    ['storageCut', 'cut'],
    ['storageStall', 'stall'],
  ] as const) {
    if (!faults.take(fault)) continue;
    log.fault = fault;
    return { afterBytes: Math.floor(length / 2), kind };
  }
  return { afterBytes: length, kind: 'whole' };
}

/** Sends a part of the object no faster than allowed; false when the client went away. */
async function stream(world: World, exchange: Exchange, object: StoredObject, part: ByteRange): Promise<boolean> {
  if (part.end < part.start) return true;
  const { res, log } = exchange;
  const { clock, settings, stop } = world;
  const began = clock.mono();
  const chunkSize =
    settings.storageRate > 0 ? Math.max(1_024, Math.min(chunkBytes, settings.storageRate / 20)) : chunkBytes;
  const source = createReadStream(object.file, { ...part, highWaterMark: Math.floor(chunkSize), signal: stop });
  let left = Promise.resolve();
  for await (const chunk of source) {
    if (res.writableNeedDrain) await left;
    if (res.destroyed) return false;
    left = write(res, chunk);
    log.bytes += chunk.length;
    const aheadMs = settings.storageRate > 0 ? (log.bytes / settings.storageRate) * 1_000 - (clock.mono() - began) : 0;
    if (aheadMs > 1) await sleep(aheadMs, undefined, { signal: stop });
  }
  await left;
  return !res.destroyed;
}

/** Settles when the chunk has left or the client has gone. */
function write(res: ServerResponse, chunk: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off('close', done);
      resolve();
    };
    res.once('close', done);
    res.write(chunk, done);
  });
}

/** An error as object stores send it: XML. */
function refuse(exchange: Exchange, status: number, code: string, message: string): void {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
  send(exchange, status, 'application/xml', xml);
}
