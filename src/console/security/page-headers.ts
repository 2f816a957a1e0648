import { createHash } from 'node:crypto';
import { consoleStyle } from '../pages/console-style.ts';
import { liveScript } from '../pages/live-script.ts';

const digest = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const style = digest(consoleStyle);
const script = digest(liveScript);

/** The policy of a page that shows other origins in frames. */
export const policyFraming = (origins: readonly string[]): string =>
  [
    "default-src 'none'",
    `style-src ${style}`,
    `script-src ${script}`,
    "connect-src 'self'",
    "img-src 'self'",
    ...(origins.length > 0 ? [`frame-src ${origins.join(' ')}`] : []),
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');

/**
 * Headers of every answer: only the page's own style and script run, and no other site can frame the page or learn its
 * address.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policyFraming([]),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  // Not `no-referrer`: forms of the console's own pages would then come with `Origin: null`.
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Cache-Control': 'no-store',
  'X-Robots-Tag': 'noindex, nofollow',
};

/** The one file besides the pages. */
export const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2b6597"/><path d="M3 10h10l-2 3H5z" fill="#fff"/><path d="M8 2v7M8 3l4 5H8" stroke="#fff" fill="none"/></svg>\n';
