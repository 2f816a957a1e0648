import { parseDuration } from '../config/durations.ts';
import { longestReason } from '../exports/rules/site-export.ts';
import { usageFailure } from './cli-failure.ts';

// Each takes the name of a flag and returns what reads its value. They throw usage failures that name the flag.

export const port = (flag: string) => (text: string) => {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= 65_535) return number;
  throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be a port from 1 to 65535`);
};

export interface HostAndPort {
  host: string;
  port: number;
}

/** `host:port`; an IPv6 address is in brackets. */
export const hostAndPort =
  (flag: string) =>
  (text: string): HostAndPort => {
    const [, bracketed, host = bracketed, number = ''] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
    if (host !== undefined) return { host, port: port(flag)(number) };
    throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be host:port, e.g. 127.0.0.1:8091`);
  };

/** A positive duration, in milliseconds. */
export const duration = (flag: string) => (text: string) => {
  const ms = parseDuration(text);
  if (ms !== null && ms > 0) return ms;
  throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be a duration like 90s, 30m or 2h`);
};

export const wholeNumber = (flag: string) => (text: string) => {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be a whole number`);
};

/** Of a list: 1 to 100,000. */
export const listLimit = (flag: string) => (text: string) => {
  const number = wholeNumber(flag)(text);
  if (number >= 1 && number <= 100_000) return number;
  throw usageFailure(`${flag} is ${JSON.stringify(text)}: it must be from 1 to 100000`);
};

/** `--reason`, trimmed; null when it is blank. */
export function reason(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed.length <= longestReason) return trimmed || null;
  throw usageFailure(`--reason has ${trimmed.length} characters, expected at most ${longestReason}`);
}

/** The name of a Worker Deployment: Temporal writes a dot or colon between it and the build. */
export function deploymentName(text: string): string {
  if (/^[\w-]{1,100}$/.test(text)) return text;
  throw usageFailure(`--deployment is ${JSON.stringify(text)}: it must have up to 100 letters, digits, _ or -`);
}

export function buildId(text: string): string {
  if (/^[\w.+-]{1,100}$/.test(text)) return text;
  throw usageFailure(`--build is ${JSON.stringify(text)}: it must have up to 100 letters, digits or . _ + -`);
}
