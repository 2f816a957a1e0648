import path from 'node:path';
import { isLoopback } from '../rules/proxy.ts';
import { type Environment, type SecretSource, TextSecret } from './secrets.ts';

/** libpq's `sslmode`, without the modes that may fall back to plain text. */
const tlsModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/** A parsed `postgres://` address. Its password, if any, is a template. */
interface PostgresAddress {
  /** Host name, address, or the absolute path of the folder of a Unix socket. */
  host: string;
  port: number;
  database: string;
  user: string;
  /** May refer to `${NAME}`; null when there is none. */
  password: string | null;
  /** As libpq means it: `require` encrypts without looking at the certificate. */
  tls: { mode: (typeof tlsModes)[number]; rootCert: string | null; cert: string | null; key: string | null };
  /** Settings of the session such as `-c search_path=docferry`; null for none. */
  options: string | null;
}

/** `place` is a readable name: the file, or the address without password. */
export type FeedbackStoreConfig = { place: string } & (
  | {
      kind: 'sqlite';
      file: string;
      /** Its folder also holds the bundles, which other users may read. */
      sharedFolder: boolean;
    }
  | ({ kind: 'postgres'; password: SecretSource | null } & Omit<PostgresAddress, 'password'>)
);

/** A PostgreSQL database as the place of a feedback store. `text` must be a good address. */
export function postgresStore(
  text: string,
  { directory, environment }: { directory: string; environment: Environment },
): FeedbackStoreConfig & { kind: 'postgres' } {
  const address = parsePostgresAddress(text);
  if (typeof address === 'string') throw new TypeError(address);
  const { password, tls } = address;
  const file = (name: string | null) => (name === null ? null : path.resolve(directory, name));
  return {
    ...address,
    kind: 'postgres',
    place: shownAddress(address),
    password: password === null ? null : new TextSecret('password', password, environment),
    tls: { mode: tls.mode, rootCert: file(tls.rootCert), cert: file(tls.cert), key: file(tls.key) },
  };
}

const whole = /^(postgres(?:ql)?:\/\/)(?:(.*)@)?([^@]*)$/is;
const parameters: ReadonlySet<string> = new Set(['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'options']);
const shape = `expected postgres://user:\${PASSWORD}@host:5432/database`;

/** The indices of the password in an address; null when it has none. */
export function passwordSpan(text: string): { start: number; end: number } | null {
  const [, scheme, credentials] = whole.exec(text) ?? [];
  const colon = credentials?.indexOf(':') ?? -1;
  if (scheme === undefined || credentials === undefined || colon < 0) return null;
  return { start: scheme.length + colon + 1, end: scheme.length + credentials.length };
}

/** Parses an address (contracts.md `store.feedback`), or returns what is wrong with it, without the password. */
export function parsePostgresAddress(text: string): PostgresAddress | string {
  const [, , credentials, rest] = whole.exec(text) ?? [];
  if (credentials === undefined || credentials === '' || rest === undefined) return `${shape}: there is no user`;
  const url = URL.canParse(`postgres://${rest}`) ? new URL(`postgres://${rest}`) : null;
  if (url === null) return `${shape}: the host or the port cannot be read`;
  const [encodedUser = '', ...password] = credentials.split(':');
  const user = decoded(encodedUser);
  const database = decoded(url.pathname.slice(1));
  const template = password.length === 0 ? null : decoded(password.join(':'));
  if (user === null || database === null || (password.length > 0 && template === null)) {
    return 'expected %25 for a % in the user, the password or the database';
  }
  if (user === '') return `${shape}: there is no user`;
  if (database === '' || database.includes('/')) return `${shape}: there is no name of a database`;
  const host = hostOf(url);
  if (host === null) return 'expected one host, or ?host= with the absolute path of the folder of its socket';
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.has(name));
  if (unknown !== undefined) return `unknown parameter ${unknown}; known are ${[...parameters].join(', ')}`;
  const tls = tlsOf(url, host);
  if (typeof tls === 'string') return tls;
  const port = url.port === '' ? 5432 : Number(url.port);
  return { host, port, database, user, password: template, tls, options: url.searchParams.get('options') };
}

/** The address for people: without password and parameters. */
export function shownAddress({ host, port, database, user }: PostgresAddress): string {
  if (host.startsWith('/')) return `postgres://${user}@/${database}?host=${host}`;
  return `postgres://${user}@${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}

function hostOf(url: URL): string | null {
  const named = decoded(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const folder = url.searchParams.get('host');
  if (folder !== null) return named === '' && folder.startsWith('/') ? folder : null;
  return named === null || named === '' || /[,\s]/.test(named) ? null : named;
}

function tlsOf({ searchParams }: URL, host: string): PostgresAddress['tls'] | string {
  const given = searchParams.get('sslmode') ?? (host.startsWith('/') || isLoopback(host) ? 'disable' : 'verify-full');
  const mode = tlsModes.find((known) => known === given);
  if (mode === undefined) return `expected sslmode=${tlsModes.join(', ')}`;
  const rootCert = searchParams.get('sslrootcert');
  const [cert, key] = [searchParams.get('sslcert'), searchParams.get('sslkey')];
  if (mode === 'disable' && (rootCert ?? cert ?? key) !== null) return 'certificates go with an sslmode that uses them';
  if (mode === 'require' && rootCert !== null) return 'sslrootcert needs sslmode=verify-ca or verify-full';
  if ((cert === null) !== (key === null)) return 'expected sslcert and sslkey together';
  return { mode, rootCert, cert, key };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
