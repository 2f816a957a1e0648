import path from 'node:path';
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { withoutEnd } from '../rules/text.ts';
import { type Environment, type SecretCheck, type SecretSource, TextSecret } from './secrets.ts';

/** What the values of a file depend on besides the file's text. */
interface FilePlace {
  /** Folder of the file; what relative paths are resolved against. */
  directory: string;
  environment: Environment;
  /** When the file was written, in milliseconds. */
  writtenAt: number;
  /** `service.allowInsecure` */
  allowInsecure: boolean;
}

/** A value of the file that is known only with its place; `placed` puts it there. */
export class InPlace<Value> {
  readonly at: (place: FilePlace) => Value;

  constructor(at: (place: FilePlace) => Value) {
    this.at = at;
  }
}

/** `Value` with the values of all that is `InPlace` in it. */
export type Placed<Value> = Value extends InPlace<infer Inner> ? Inner : { [Key in keyof Value]: Placed<Value[Key]> };

export function placed<Value>(value: Value, place: FilePlace): Placed<Value> {
  const put = (part: unknown): unknown => {
    if (part instanceof InPlace) return part.at(place);
    if (Array.isArray(part)) return part.map(put);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, put(inner)]));
  };
  return put(value) as Placed<Value>;
}

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `500ms`, `20s`, `15m`, `1h`, `7d`; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, whole, fraction = '', unit] = /^(\d+)(?:\.(\d+))?(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  if (whole === undefined || unit === undefined) return null;
  // In whole numbers: 1.1 hours times 3,600,000 is a little more than 3,960,000 to a computer.
  const unitMs = durationUnits[unit as keyof typeof durationUnits];
  const milliseconds = (Number(whole + fraction) * unitMs) / 10 ** fraction.length;
  return Number.isSafeInteger(milliseconds) ? milliseconds : null;
}

const sizeUnits = {
  B: 1,
  KB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  TB: 1000 ** 4,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** Bytes of `5GiB` (powers of 1024), `10MB` (powers of 1000) or plain `4096`, rounded; null for anything else. */
export function parseSize(text: string): number | null {
  const [, amount, unit = 'B'] = /^(\d+(?:\.\d+)?) ?(B|[KMGT]i?B)?$/.exec(text.trim()) ?? [];
  if (amount === undefined) return null;
  const bytes = Number(amount) * sizeUnits[unit as keyof typeof sizeUnits];
  const rounded = unit === 'B' ? bytes : Math.round(bytes);
  return Number.isSafeInteger(rounded) ? rounded : null;
}

/** The part of `isHostName` that editors can check. */
const hostNamePattern = '^[a-z0-9-]{1,63}([.][a-z0-9-]{1,63})*$';

/** A duration, as milliseconds. */
export function duration({ min, max }: { min: string; max: string }) {
  const lowest = parseDuration(min) ?? 0;
  const highest = parseDuration(max) ?? Number.POSITIVE_INFINITY;
  const message = `expected a duration from ${min} to ${max}, such as 500ms, 20s, 15m, 1h or 7d`;
  const shape = z.string(message).meta({
    title: `duration from ${min} to ${max}`,
    pattern: String.raw`^\s*\d+(\.\d+)?(ms|s|m|h|d)\s*$`,
  });
  return shape.transform((text, context) => {
    const milliseconds = parseDuration(text);
    if (milliseconds !== null && milliseconds >= lowest && milliseconds <= highest) return milliseconds;
    context.addIssue(message);
    return z.NEVER;
  });
}

/** A part such as `50%`, as a number up to `most`, 0 included only if said. */
export function share({ orNothing = false, most = 1 } = {}) {
  const message = `expected a share ${orNothing ? 'from' : 'above'} 0% ${orNothing ? '' : 'and up '}to ${most * 100}%, with its sign, such as 50%`;
  return z
    .string(message)
    .meta({ title: 'share', pattern: String.raw`^\s*\d+(\.\d+)?\s*%\s*$` })
    .transform((text, context) => {
      const [, percent = 'none'] = /^\s*(\d{1,4}(?:\.\d{1,4})?)\s*%\s*$/.exec(text) ?? [];
      const part = Number(percent) / 100;
      if ((part > 0 || orNothing) && part <= most) return part;
      context.addIssue(message);
      return z.NEVER;
    });
}

/** A size of at least 1, as bytes. */
export function size() {
  const message = 'expected a size such as 5GiB, 10MB or a number of bytes';
  const units = z.string().meta({ pattern: String.raw`^\s*\d+(\.\d+)? ?(B|[KMGT]i?B)?\s*$` });
  return z
    .union([units, z.int().meta({ minimum: 1 })], message)
    .meta({ title: 'size' })
    .transform((value, context) => {
      const bytes = parseSize(String(value));
      if (bytes !== null && bytes >= 1) return bytes;
      context.addIssue(message);
      return z.NEVER;
    });
}

export function wholeNumber(min: number, max: number) {
  const message = `expected a whole number from ${min} to ${max}`;
  const bound = { error: message, abort: true };
  return z.int(message).min(min, bound).max(max, bound);
}

export function flag() {
  return z.boolean('expected true or false');
}

export function listOf<Item extends z.ZodType>(item: Item, what: string) {
  return z.array(item, `expected a list of ${what}`);
}

export function text(what: string) {
  return z
    .string(`expected ${what}`)
    .min(1, `expected ${what}`)
    .meta({ title: what.replace(/^(an?|the) /, '') });
}

/** A path, as an absolute one. */
export function filePath(what: string) {
  return text(what).transform(absolute);
}

export function absolute(name: string): InPlace<string> {
  return new InPlace(({ directory }) => path.resolve(directory, name));
}

/** A secret as text with references to the environment; `what` names it in messages. */
export function secret(what: string, check?: (place: FilePlace) => SecretCheck, expected?: string) {
  return text(expected ?? `\${NAME} of an environment variable`)
    .meta({ title: 'text' })
    .transform(
      (template) =>
        new InPlace<SecretSource>((place) => new TextSecret(what, template, place.environment, check?.(place))),
    );
}

/** A field that may be absent: then it is null. */
export function orNull<Schema extends z.ZodType>(schema: Schema) {
  return schema.optional().transform((value): z.output<Schema> | null => value ?? null);
}

/** Ids become parts of workflow ids and file names. */
export function id(what: string) {
  const message = `expected ${what} of up to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit`;
  return z
    .string(message)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, message)
    .meta({ title: what.replace(/^an? /, '') });
}

/** A name for people. It may not look like `org/project`, and nothing invisible may be in it. */
export function name() {
  const message = 'expected a name of up to 100 characters, without "/" and control characters';
  return z
    .string(message)
    .regex(/^(?! )[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}/]{1,100}(?<! )$/u, message)
    .meta({ title: 'text', pattern: '^[^/]{1,100}$' });
}

/** Bare host name in lower case: no scheme, port, path or trailing dot (service-interface.md appendix). */
export function domain() {
  const message = 'expected a bare host name such as docs.acme.example: no scheme, no port, no path';
  return z
    .string(message)
    .superRefine((name, context) => {
      if (isHostName(name)) return;
      const better = suggestDomain(name);
      context.addIssue(better === null ? message : `${message}; did you mean "${better}"?`);
    })
    .meta({ title: 'host name', pattern: hostNamePattern });
}

/** A host name or an IPv6 address in brackets, as links name it, with or without a port. */
export function linkHost() {
  return z
    .string()
    .refine((text) => {
      const host = text.replace(/:\d{1,5}$/, '');
      return isHostName(host) || isIPv6Host(host);
    }, 'expected a host name in lower case, or host:port; an IPv6 address is written like [::1] or [::1]:8788')
    .meta({
      title: 'host name',
      pattern: `${hostNamePattern.replace(/\$$/, '(:[0-9]{1,5})?$')}|^\\[[0-9a-f:]+\\](:[0-9]{1,5})?$`,
    });
}

/** An http:// or https:// address without credentials, query and fragment. */
export function address() {
  const message = 'expected an http(s) address such as https://docs-service.example, without credentials and query';
  return z
    .string(message)
    .refine(
      (value) => {
        if (!URL.canParse(value)) return false;
        const { protocol, username, password, search, hash } = new URL(value);
        return /^https?:$/.test(protocol) && username + password + search + hash === '';
      },
      { error: message, abort: true },
    )
    .meta({ title: 'http(s) address', pattern: '^[Hh][Tt][Tt][Pp][Ss]?:' });
}

/** An address that paths are added to: without a slash at its end. */
export function baseAddress() {
  return address().transform((url) => withoutEnd(url, '/'));
}

/** Where something is in an object store. */
export const bucketFields = {
  bucket: z
    .string('expected the name of a bucket')
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'expected the name of a bucket, without s3:// and path')
    .meta({ title: 'text' })
    .describe('Name of the bucket, which must exist.'),
  prefix: z
    .string('expected text')
    .regex(/^([A-Za-z0-9_][A-Za-z0-9._-]*(\/|$))*$/, 'expected names with slashes between them, e.g. docs/bundles')
    .default('')
    .transform((prefix) => withoutEnd(prefix, '/'))
    .meta({ title: 'text' })
    .describe('What every key begins with, e.g. `docs/bundles`. Absent: nothing, and the whole bucket is used.'),
  endpoint: baseAddress()
    .exactOptional()
    .describe("Address of the object store; the bucket's name is then part of the path. Absent: AWS."),
  region: text('the name of a region')
    .exactOptional()
    .describe("Region of the bucket. Absent: by AWS's own variables and profiles."),
};

function isHostName(name: string): boolean {
  const labels = name.split('.');
  return name.length <= 253 && labels.every((label) => /^(?!-)[a-z0-9-]{1,63}(?<!-)$/.test(label));
}

/** Only in the form that addresses have once they are read: links are compared with it. */
function isIPv6Host(host: string): boolean {
  const url = `http://${host}/`;
  return host.startsWith('[') && URL.canParse(url) && new URL(url).hostname === host;
}

function suggestDomain(name: string): string | null {
  const bare = name
    .replace(/^[a-z]+:\/\//i, '')
    .replace(/[/:?#].*$/s, '')
    .replace(/\.$/, '');
  const ascii = domainToASCII(bare).toLowerCase();
  return ascii !== '' && isHostName(ascii) ? ascii : null;
}
