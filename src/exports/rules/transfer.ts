import { spanText } from '../../rules/details-text.ts';
import { sizeText } from '../../rules/quantities.ts';

/** Progress of a download. */
export interface Transfer {
  /** Bytes on disk. */
  offset: number;
  /** Null when unknown. */
  total: number | null;
  /** Over the last seconds; null when unknown yet. */
  bytesPerSecond: number | null;
  /** When this was measured, in milliseconds. */
  at: number;
}

/** 0 to 100; null when the length is unknown. */
export function transferPercent({ offset, total }: Transfer): number | null {
  return total === null || total <= 0 ? null : Math.min(100, (100 * offset) / total);
}

/** `42.9 MiB of 114.4 MiB`, `11.9 MiB/s`, `6 s left`, as far as known. */
export function transferFacts(transfer: Transfer): string[] {
  const { offset, total, bytesPerSecond } = transfer;
  const left = timeLeftMs(transfer);
  return [
    total === null ? sizeText(offset) : `${sizeText(offset)} of ${sizeText(total)}`,
    ...(bytesPerSecond === null ? [] : [`${sizeText(bytesPerSecond)}/s`]),
    ...(left === null ? [] : [`${spanText(left)} left`]),
  ];
}

/** A download that seems to take longer stands still. */
const longestForecastMs = 30 * 86_400_000;

function timeLeftMs({ offset, total, bytesPerSecond }: Transfer): number | null {
  if (total === null || bytesPerSecond === null || bytesPerSecond <= 0) return null;
  const leftMs = (Math.max(0, total - offset) / bytesPerSecond) * 1000;
  return leftMs > longestForecastMs ? null : leftMs;
}
