import { isIPv4 } from 'node:net';

/** Whether the address of `url` is this very machine: `localhost`, `*.localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname;
  if (host === 'localhost' || host.endsWith('.localhost') || host === '[::1]') return true;
  return isIPv4(host) && host.startsWith('127.');
}
