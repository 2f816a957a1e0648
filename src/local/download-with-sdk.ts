import { chmod, readdir, rename, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from './embedded-errors.ts';
import { runCommand } from './run-command.ts';
import type { MakeContext } from './tool.ts';

export interface SdkDownload {
  method: 'createLocal' | 'createTimeSkipping';
  /** Release to get, e.g. `v1.5.1`. */
  version: string;
  executable: string;
}

/**
 * The SDK downloads in native code without a time limit that cannot be stopped, so it runs in a separate process. The SDK
 * also starts the server, which proves that the download works.
 */
const program = `
const [, sdk, method, downloadDir, version] = process.argv;
const { TestWorkflowEnvironment } = require(sdk);
TestWorkflowEnvironment[method]({ server: { executable: { type: 'cached-download', downloadDir, version } } })
  .then((environment) => environment.teardown())
  .then(() => process.exit(0), (error) => {
    process.stderr.write(String(error.message).split('\\n')[0] + '\\n', () => process.exit(1));
  });
`;

/**
 * Gets a server through the SDK's own download (temporal.download; the system's proxy and certificates are honoured)
 * and leaves it in the context's folder. Fails after `stallMs` milliseconds without a new byte.
 */
export async function downloadWithSdk(download: SdkDownload, context: MakeContext, stallMs = 30_000): Promise<void> {
  const { folder, env, onProgress } = context;
  const ended = new AbortController();
  const watching = watchDownload(folder, stallMs, onProgress, ended);
  try {
    const sdk = createRequire(import.meta.url).resolve('@temporalio/testing');
    const args = ['-e', program, sdk, download.method, folder, download.version];
    // The server it starts is on loopback, which no proxy reaches.
    const no_proxy = [env.no_proxy ?? env.NO_PROXY, '127.0.0.1'].filter(Boolean).join(',');
    const options = { env: { ...env, no_proxy }, cwd: folder, signal: ended.signal };
    await runCommand(process.execPath, args, options).catch((error: unknown) => {
      throw new Error(shortReason(reasonOf(error)));
    });
  } finally {
    ended.abort();
    await watching;
  }
  const [file, ...others] = await readdir(folder);
  if (file === undefined || others.length > 0) throw new Error('the SDK reported success but left no single file');
  await rename(join(folder, file), join(folder, download.executable));
  await chmod(join(folder, download.executable), 0o755);
}

/** Aborts `ended` when the bytes in `folder` stop growing for `stallMs`; ends when `ended` is aborted. */
async function watchDownload(
  folder: string,
  stallMs: number,
  onProgress: (line: string) => void,
  ended: AbortController,
): Promise<void> {
  let bytes = 0;
  let grewAt = performance.now();
  while (!ended.signal.aborted) {
    await sleep(Math.min(1000, stallMs / 2), undefined, { signal: ended.signal }).catch(() => undefined);
    const now = await bytesIn(folder);
    if (now > bytes) {
      bytes = now;
      grewAt = performance.now();
      onProgress(`downloading: ${(bytes / 1e6).toFixed(0)} MB`);
    } else if (performance.now() - grewAt > stallMs) {
      ended.abort(new Error(`no data for ${Math.round(stallMs / 1000)} s`));
    }
  }
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (stats) => stats.size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The native error repeats its whole chain of causes, address included; the last cause is enough. */
function shortReason(message: string): string {
  return message.split(/error sending request for url \([^()]*\): /).at(-1) ?? message;
}
