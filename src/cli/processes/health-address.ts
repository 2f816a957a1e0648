import { usageFailure } from '../failures/cli-failure.ts';
import { port as portOf } from '../input/flag-values.ts';

export interface HealthAddress {
  host: string;
  port: number;
}

/** `host:port` of `--health`; an IPv6 address is in brackets. Throws a usage failure. */
export function healthAddress(text: string): HealthAddress {
  const [, bracketed, host = bracketed, port = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  if (host !== undefined) return { host, port: portOf('--health')(port) };
  throw usageFailure(`--health is ${JSON.stringify(text)}: it must be host:port, e.g. 127.0.0.1:8091`);
}
