/** The requested path, as sent. */
export interface AnalyticsTarget {
  path: string;
  /** With its `?`; empty without one. */
  query: string;
}

const area = '/v1/analytics/';
/** A segment in plain letters and percent-encoded UTF-8. No `;`: some servers cut a segment there and see `..`. */
const segment = /^(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%[0-9A-Fa-f]{2})+$/;
const query = /^(?:\?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?[\]|^`{}-]|%[0-9A-Fa-f]{2})*)?$/;
/** What no server may take for a separator, the end of a path, or another encoding. */
const unsafe = /[\p{Cc}/\\%;?#]/u;

/**
 * Reads the target of a request (`GET <target> HTTP/1.1`). Null unless it is a path below the analytics area that every
 * server reads alike: absolute addresses, dots as segments, empty segments and encoded separators are refused.
 */
export function readAnalyticsTarget(target: string): AnalyticsTarget | null {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const rest = mark < 0 ? '' : target.slice(mark);
  if (!path.startsWith(area) || !query.test(rest)) return null;
  return path.slice(area.length).split('/').every(isPlain) ? { path, query: rest } : null;
}

function isPlain(text: string): boolean {
  if (!segment.test(text)) return false;
  try {
    const decoded = decodeURIComponent(text);
    return !unsafe.test(decoded) && !/^\.+$/.test(decoded);
  } catch {
    return false;
  }
}
