const loopback = /^((.+\.)?localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** Whether a host, with or without a port, is this machine: `localhost`, `*.localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(host: string): boolean {
  return host === '::1' || loopback.test(host);
}

/** Whether no one on the way can listen: `https://`, or this machine. */
export function isSecure(url: URL): boolean {
  return url.protocol === 'https:' || isLoopback(url.hostname);
}
