import { inFourDigitYears, isoInstant } from '../../rules/iso-instant.ts';

const rfc1123 =
  /^(?:[a-z]{3},\s*)?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d{2}:\d{2}(?::\d{2})?)\s*(GMT|UTC?|Z|[+-]\d{2}:?\d{2})$/i;
const epochSeconds = /^\d{9,10}(?:\.\d{1,9})?$/;
const epochMilliseconds = /^\d{12,13}$/;
const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/**
 * Reads the `createdAt` of an entry, whose format service-interface.md leaves open, into UTC ISO 8601 with milliseconds
 * (24 characters, so that text order is time order); null where it cannot be understood. Never throws.
 *
 * Understood: ISO 8601 with or without zone, a date alone, seconds or milliseconds since the epoch as digits, RFC 1123.
 * What names no zone is taken as UTC: the overlap of incremental passes covers the error this may cause.
 */
export function createdAtUtc(createdAt: string | null): string | null {
  const ms = instant(createdAt?.trim() ?? '');
  return ms === null ? null : new Date(ms).toISOString();
}

function instant(text: string): number | null {
  if (epochSeconds.test(text)) return inFourDigitYears(Math.trunc(Number(text) * 1000));
  if (epochMilliseconds.test(text)) return inFourDigitYears(Number(text));
  const [rfc, day = '', name = '', year, time, zone = ''] = rfc1123.exec(text) ?? [];
  if (rfc === undefined) return isoInstant(text);
  const month = String(months.indexOf(name.toLowerCase()) + 1).padStart(2, '0');
  const offset = /^[+-]/.test(zone) ? zone : 'Z';
  return isoInstant(`${year}-${month}-${day.padStart(2, '0')}T${time}${offset}`);
}
