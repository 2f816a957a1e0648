import { readdirSync, readFileSync } from 'node:fs';
import { BrowserUnusable, findBrowser } from '../../../src/exports/verify/find-browser.ts';

/** The Chromium of this machine; null, with a word on stderr, where there is none. */
export async function chromiumProgram(): Promise<string | null> {
  try {
    return await findBrowser({ program: null, sandbox: false });
  } catch (error) {
    if (!(error instanceof BrowserUnusable)) throw error;
    process.stderr.write('Chromium is not installed: tests with it are SKIPPED (apt-get install chromium)\n');
    return null;
  }
}

/** Processes that were started with `text` in their environment or arguments (Linux). */
export function processesWith(text: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.map(Number).filter((pid) => {
    try {
      return ['environ', 'cmdline'].some((file) => readFileSync(`/proc/${pid}/${file}`).includes(text));
    } catch {
      return false;
    }
  });
}
