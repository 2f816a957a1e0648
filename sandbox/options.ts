import { type Faults, faultFields } from './faults.ts';
import type { Field, FieldKind, Fields } from './field.ts';
import { keyPrefix, type OrganizationOptions } from './organizations.ts';
import { type Settings, settingFields } from './settings.ts';

/** Everything `startSandbox` takes; all of it has defaults. Durations in milliseconds, sizes in bytes. */
export interface SandboxOptions extends Partial<Settings> {
  /** Default: `acme` with project `prj_1` and domain `docs.acme.example`. */
  organizations?: readonly OrganizationOptions[];
  faults?: Partial<Faults>;
}

/** One flag of `docferry sandbox`. */
export interface SandboxFlag {
  /** Kebab-case, without the leading dashes. */
  flag: string;
  kind: FieldKind;
  description: string;
  /** As it would be typed. */
  default: string | number | boolean;
}

/** A flag whose value cannot be used. The message names the flag and what is allowed. */
export class SandboxFlagError extends Error {
  override readonly name = 'SandboxFlagError';
  readonly flag: string;

  constructor(flag: string, problem: string) {
    super(`--${flag} ${problem}`);
    this.flag = flag;
  }
}

const defaultPorts: Readonly<Record<string, number>> = { port: 8787, 'storage-port': 8788 };
const units: Readonly<Record<'duration' | 'size', readonly (readonly [name: string, factor: number])[]>> = {
  duration: [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
    ['ms', 1],
  ],
  size: [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
    ['B', 1],
  ],
};

/** Flags that describe the organizations. */
const organizationFlags: readonly SandboxFlag[] = [
  { flag: 'org', kind: 'string', description: 'id of the organization', default: 'acme' },
  { flag: 'api-key', kind: 'string', description: `its admin API key; begins ${keyPrefix}`, default: '' },
  { flag: 'projects', kind: 'string', description: 'its projects, comma-separated', default: 'prj_1' },
  { flag: 'domains', kind: 'string', description: 'its sites, comma-separated', default: 'docs.acme.example' },
  {
    flag: 'organizations',
    kind: 'number',
    description:
      'how many there are: beside the first acme-2 with project prj_1-2 and site docs.acme-2.example, and so on',
    default: 1,
  },
  { flag: 'no-enterprise', kind: 'boolean', description: 'its plan lacks static export', default: false },
];

/** Every option and every fault as a flag. */
export const sandboxFlags: readonly SandboxFlag[] = [
  ...Object.values<Field<unknown>>(settingFields).map(flagOf),
  ...organizationFlags,
  ...Object.values<Field<unknown>>(faultFields).map(flagOf),
];

/**
 * Options from the values of flags: text, numbers or booleans under the flag's name, kebab-case or camelCase. Names that
 * are no flag of the sandbox are ignored. Throws SandboxFlagError.
 */
export function optionsFromFlags(values: Readonly<Record<string, unknown>>): SandboxOptions {
  const given = (flag: string): unknown => values[flag] ?? values[camelCase(flag)];
  return {
    ...readFields(settingFields, (flag) => given(flag) ?? defaultPorts[flag]),
    organizations: readOrganizations(given),
    faults: readFields(faultFields, given),
  };
}

function readFields<Table extends Fields>(table: Table, given: (flag: string) => unknown): object {
  const read = Object.entries(table).flatMap(([name, field]) => {
    const value = given(field.flag);
    return value === undefined ? [] : [[name, readValue(field, value)]];
  });
  return Object.fromEntries(read);
}

function readValue(field: Field<unknown>, given: unknown): unknown {
  const value = typeof given === 'string' ? parse(field.kind, given) : given;
  if (!field.accepts(value)) throw new SandboxFlagError(field.flag, `must be ${field.expected}${hint(field.kind)}`);
  return value;
}

function readOrganizations(given: (flag: string) => unknown): OrganizationOptions[] {
  const first = readOrganization(given);
  const value = given('organizations') ?? 1;
  const count = typeof value === 'string' ? parse('number', value) : value;
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > 1_000) {
    throw new SandboxFlagError('organizations', 'must be a whole number from 1 to 1000');
  }
  const more = Array.from({ length: count - 1 }, (_, index): OrganizationOptions => {
    const id = `${first.id}-${index + 2}`;
    return {
      id,
      projects: [{ id: `prj_1-${index + 2}` }],
      domains: [`docs.${id}.example`],
      plan: first.plan ?? 'enterprise',
    };
  });
  return [first, ...more];
}

function readOrganization(given: (flag: string) => unknown): OrganizationOptions {
  const [org, apiKey, projects, domains] = ['org', 'api-key', 'projects', 'domains'].map((flag) => {
    const value = given(flag) ?? organizationFlags.find((known) => known.flag === flag)?.default;
    if (typeof value !== 'string') throw new SandboxFlagError(flag, 'must be text');
    return value;
  });
  if (apiKey && !apiKey.startsWith(keyPrefix)) throw new SandboxFlagError('api-key', `must begin ${keyPrefix}`);
  // Command-line parsers turn `--no-enterprise` into `enterprise: false`.
  const lacksPlan = given('no-enterprise') === true || given('enterprise') === false;
  return {
    id: org || 'acme',
    ...(apiKey ? { apiKey } : {}),
    projects: list(projects).map((id) => ({ id })),
    domains: list(domains),
    plan: lacksPlan ? 'basic' : 'enterprise',
  };
}

function list(text = ''): string[] {
  return text.split(',').filter((item) => item !== '');
}

function parse(kind: FieldKind, text: string): unknown {
  if (kind === 'string') return text;
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  const [, number, unit = ''] = /^(-?\d+(?:\.\d+)?) ?([a-zA-Z]*)$/.exec(text.trim()) ?? [];
  if (number === undefined) return undefined;
  if (kind === 'number') return unit === '' ? Number(number) : undefined;
  const factor = units[kind].find(([name]) => name === unit)?.[1] ?? (kind === 'size' && unit === '' ? 1 : undefined);
  return factor === undefined ? undefined : Number(number) * factor;
}

function hint(kind: FieldKind): string {
  if (kind === 'duration') return ', written like 250ms, 10s, 15m or 1h';
  return kind === 'size' ? ', written like 4096 or 200MiB' : '';
}

function flagOf({ flag, kind, description, default: initial }: Field<unknown>): SandboxFlag {
  return { flag, kind, description, default: defaultPorts[flag] ?? written(kind, initial) };
}

/** A default as it would be typed. */
function written(kind: FieldKind, value: unknown): string | number | boolean {
  if (typeof value !== 'number') return typeof value === 'boolean' ? value : String(value);
  if (kind !== 'duration' && kind !== 'size') return value;
  const [unit, factor] = units[kind].find(([, size]) => value >= size && value % size === 0) ?? ['', 1];
  return value === 0 && kind === 'duration' ? '0s' : `${value / factor}${unit}`;
}

function camelCase(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
