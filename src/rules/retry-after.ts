/** Longest delay that is respected, in milliseconds. */
const maxRetryAfterMs = 24 * 60 * 60 * 1000;

/** The three date forms of RFC 9110 §5.6.7; `Date.parse` alone accepts nearly anything. */
const imfOrRfc850 = /^[A-Za-z]{3,9}, \d{2}[ -][A-Za-z]{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
const asctime = /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Reads a `Retry-After` header (service-interface.md: seconds or an HTTP date) as milliseconds from now, 0 to 24 h.
 * Dates are relative to the same answer's `Date` header if there is one, so the service's clock may be wrong. Null when
 * absent, negative or unreadable.
 */
export function readRetryAfter(
  value: string | undefined,
  dateHeader: string | undefined,
  nowMs: number,
): number | null {
  const text = value?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), maxRetryAfterMs);
  const until = readHttpDate(text);
  if (until === null) return null;
  const from = readHttpDate(dateHeader) ?? nowMs;
  return Math.min(Math.max(until - from, 0), maxRetryAfterMs);
}

/** An HTTP date in milliseconds since the epoch; null when absent or unreadable. */
export function readHttpDate(value: string | undefined): number | null {
  const text = value?.trim() ?? '';
  if (imfOrRfc850.test(text)) return finite(Date.parse(text));
  if (asctime.test(text)) return finite(Date.parse(`${text} GMT`));
  return null;
}

function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
