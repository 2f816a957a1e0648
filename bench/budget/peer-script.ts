import { setTimeout as sleep } from 'node:timers/promises';
import Bottleneck from 'bottleneck';
import pThrottle from 'p-throttle';
import { peerSettings } from './peer-environment.ts';
import { createPageReader, type PeerPage } from './peer-page.ts';

/** A plain script with a throttle library: `peer-script p-throttle` or `peer-script bottleneck`. */
const settings = peerSettings(process.env);
const readPage = createPageReader(settings);

function throttled(library: string | undefined): (cursor: string | null) => Promise<PeerPage> {
  const { requests, windowMs } = settings;
  switch (library) {
    case 'p-throttle':
      return pThrottle({ limit: requests, interval: windowMs, strict: true })(readPage);
    case 'bottleneck':
      return new Bottleneck({
        maxConcurrent: 1,
        reservoir: requests,
        reservoirRefreshAmount: requests,
        reservoirRefreshInterval: windowMs,
      }).wrap(readPage);
    default:
      throw new Error('usage: peer-script p-throttle|bottleneck');
  }
}

const next = throttled(process.argv[2]);
let entries = 0;
let cursor: string | null = null;
for (let more = true; more; ) {
  const page = await next(cursor);
  if ('waitMs' in page) {
    await sleep(page.waitMs);
    continue;
  }
  entries += page.entries;
  cursor = page.nextCursor;
  more = cursor !== null;
}
process.stdout.write(`${entries} entries\n`);
// The limiter's refresh timer would keep the process alive.
process.exit(0);
