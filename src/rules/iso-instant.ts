const isoPattern =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/**
 * An ISO 8601 date-time or date (`YYYY-MM-DD`, its midnight) in milliseconds since the epoch; null for anything else and
 * outside the years 1000 to 9999. Without a zone it counts as UTC. Never throws.
 */
export function isoInstant(text: string): number | null {
  const [iso, date, time = '00:00', seconds = '00', fraction = '', zone = 'Z'] = isoPattern.exec(text) ?? [];
  if (iso === undefined) return null;
  const local = `${date}T${time}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const localMs = Date.parse(local);
  // Date.parse rolls 30 February over into March.
  if (Number.isNaN(localMs) || new Date(localMs).toISOString() !== local) return null;
  const offset = offsetMinutes(zone);
  return offset === null ? null : inFourDigitYears(localMs - offset * 60_000);
}

/** Null outside the years 1000 to 9999: written with a sign or leading zeros, they would sort wrongly as text. */
export function inFourDigitYears(ms: number): number | null {
  return ms >= Date.UTC(1000, 0) && ms < Date.UTC(10_000, 0) ? ms : null;
}

function offsetMinutes(zone: string): number | null {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  if (Number(hours) > 23 || Number(minutes) > 59) return null;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
