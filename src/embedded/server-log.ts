import { readFile, rename, stat } from 'node:fs/promises';

const logLimitBytes = 5_000_000;
const shownLines = 10;

/** Keeps one earlier log beside the current one once that is long, so that the files stay small over many starts. */
export async function setAsideLongLog(logFile: string): Promise<void> {
  const stats = await stat(logFile).catch(() => undefined);
  if (stats && stats.size > logLimitBytes) await rename(logFile, `${logFile}.old`);
}

/** The last lines of the log; none when it cannot be read. */
export async function lastLines(logFile: string): Promise<string[]> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).slice(-shownLines);
}
