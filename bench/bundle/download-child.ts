import { parseArgs } from 'node:util';
import { download } from '../../src/exports/fetch/download.ts';

/*
 * One download in a process of its own, as a worker does it: prints seconds, the digest, and the peak of its memory over
 * what it had before (started by bench/bundle/bundle.ts).
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { connections: { type: 'string', default: '1' } },
});
const [href = '', file = ''] = positionals;
const idleBytes = process.memoryUsage.rss();
const begun = performance.now();
const { sha256 } = await download(async () => ({ href, sizeBytes: null, expiresAtMs: null, serviceNowMs: null }), {
  file,
  policy: { allowInsecure: true, linkHosts: ['127.0.0.1'] },
  maxBytes: Number.MAX_SAFE_INTEGER,
  connections: Number(values.connections),
});
const seconds = (performance.now() - begun) / 1000;
const overIdleMb = (process.resourceUsage().maxRSS * 1024 - idleBytes) / 1e6;
process.stdout.write(`${JSON.stringify({ seconds, sha256, overIdleMb })}\n`);
