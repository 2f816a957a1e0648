/** Markdown texts for the Temporal UI and the terminal. They hold only ids, counts and times (X1). */

import { counted } from './quantities.ts';
import { visibleText } from './visible-text.ts';

/** A moment in milliseconds as `14:05:07 UTC`. */
export function clockTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}

/** Like `clockTime`, with the date if it is not today: `2026-11-24 14:05:07 UTC`. */
export function momentText(ms: number, now: number): string {
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  return day(ms) === day(now) ? clockTime(ms) : `${day(ms)} ${clockTime(ms)}`;
}

/** A duration in milliseconds as `45 s`, `3 min 20 s` or `2 h 5 min`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `≈ 14:05:00 UTC, 212 pages, 2 windows`: when a pass will be done if nothing changes. */
export function forecastText(
  { doneAt, pages, windows }: { doneAt: number; pages: number; windows: number },
  now: number,
): string {
  const moment = `≈ ${momentText(doneAt, now)}`;
  return [moment, counted(pages, 'page'), ...(windows > 0 ? [counted(windows, 'window')] : [])].join(', ');
}

/** Longest summary in UTF-8 bytes: Temporal documents 200, including JSON quotes. */
const summaryBytes = 180;

/** A summary of a timer or activity, cut to what Temporal accepts: it may quote the service, in any script. */
export function summaryText(quoting: string): string {
  const text = visibleText(quoting);
  let [bytes, length] = [0, 0];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > summaryBytes) return text.slice(0, length);
    length += character.length;
  }
  return text;
}

/** A Markdown table of two columns; pipes, line breaks and control characters in values cannot break it. */
export function factsTable(facts: readonly (readonly [string, string])[]): string {
  const cell = (text: string) => visibleText(text.replaceAll('|', '\\|').replace(/\s+/g, ' '));
  return ['| | |', '|---|---|', ...facts.map(([name, value]) => `| ${cell(name)} | ${cell(value)} |`)].join('\n');
}

/** The text about malformed signals: empty while there are none, or if an older worker does not count them. */
export function ignoredFacts(ignored: number | undefined): [string, string][] {
  return ignored ? [['ignored', `${counted(ignored, 'signal')} that made no sense`]] : [];
}

/** A percentage as a text bar. */
export function barText(percent: number, width = 20): string {
  const filled = Math.round((Math.min(100, Math.max(0, percent)) / 100) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
