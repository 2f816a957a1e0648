import { createHash } from 'node:crypto';

/** Looks nearer together than this are one visit. */
const visitMs = 30 * 60_000;

interface Visit {
  /** What the browser keeps until the next look. */
  kept: string;
  /** When the login last looked before this visit, UTC ISO 8601; null when this browser knows of no such visit. */
  since: string | null;
}

/**
 * A look by a login at a moment, in milliseconds: `kept` is what the browser has kept of earlier ones. What a browser sends
 * that was not written here counts for nothing; what it could gain by more is another filter.
 */
export function nextVisit(kept: string | undefined, login: string, now: number): Visit {
  const who = createHash('sha256').update(login).digest('base64url').slice(0, 16);
  const [, whose, earlier = '', last = ''] = /^([\w-]{16})\.(\d{1,13})\.(\d{1,13})$/.exec(kept ?? '') ?? [];
  const lastAt = whose === who && Number(last) <= now ? Number(last) : 0;
  const before = now - lastAt < visitMs ? Number(earlier) : lastAt;
  const since = before === 0 || before > now ? null : new Date(before).toISOString();
  return { kept: `${who}.${since === null ? 0 : before}.${now}`, since };
}
