import { isLoopback } from '../rules/loopback.ts';

/** Whether no one on the way can listen: `https://`, or this machine. */
export function isSecure(url: URL): boolean {
  return url.protocol === 'https:' || isLoopback(url.hostname);
}
