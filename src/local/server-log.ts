import { readFile, rename, stat } from 'node:fs/promises';

const logLimitBytes = 5_000_000;
const shownLines = 10;

/** Renames a long log to `<file>.old`, replacing the one before, so that the files stay small over many starts. */
export async function rotateLongLog(logFile: string): Promise<void> {
  const stats = await stat(logFile).catch(() => undefined);
  if (stats && stats.size > logLimitBytes) await rename(logFile, `${logFile}.old`);
}

/** The last lines of the log; empty when it cannot be read. */
export async function lastLines(logFile: string): Promise<string[]> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  return text.split('\n').filter(Boolean).slice(-shownLines);
}
