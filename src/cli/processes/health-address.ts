import { usageFailure } from '../failures/cli-failure.ts';
import { portOf } from '../input/port-option.ts';

export interface HealthAddress {
  host: string;
  port: number;
}

/** `host:port` of `--health`; an IPv6 address stands in brackets. Throws a usage failure. */
export function healthAddress(text: string): HealthAddress {
  const [, bracketed, host = bracketed, port = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  if (host !== undefined) return { host, port: portOf('--health', port) };
  throw usageFailure(`--health held ${JSON.stringify(text)}: it must be host:port, e.g. 127.0.0.1:8091`);
}
