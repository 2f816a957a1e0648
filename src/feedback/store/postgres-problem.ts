import { DatabaseError } from 'pg';
import { FeedbackStoreUnavailable } from './feedback-store-unavailable.ts';
import type { PostgresPlace } from './postgres-place.ts';

type Words = readonly [problem: string, fix: string];

const start = 'Start the server, or correct host and port in store.feedback; the work continues when it answers.';
const soon = 'Wait until it answers again: what was committed is kept, and the work continues from there.';
const trust = 'Name the authority that signed it with sslrootcert=FILE in store.feedback, or by NODE_EXTRA_CA_CERTS.';

/** By SQLSTATE, or by the code of the system or of TLS. The longest beginning that fits counts. */
const byCode: Readonly<Record<string, (place: PostgresPlace) => Words>> = {
  ECONNREFUSED: () => ['nothing listens there', start],
  ENOENT: () => [
    'there is no socket or certificate of that name',
    'Correct host or the certificates in store.feedback.',
  ],
  EACCES: () => ['its socket or a certificate cannot be read', 'Give the user that runs docferry access to it.'],
  ENOTFOUND: () => ['the name of its host is not known', 'Correct the host in store.feedback.'],
  EAI_AGAIN: () => ['the name of its host cannot be looked up now', 'Check the name service, or the host.'],
  EHOSTUNREACH: () => ['there is no way to its host', start],
  ENETUNREACH: () => ['there is no way to its host', start],
  ETIMEDOUT: () => ['its host does not answer', start],
  ECONNRESET: () => ['the connection was cut', soon],
  EPIPE: () => ['the connection was cut', soon],
  '08': () => ['the connection was cut', soon],
  '57P01': () => ['the server is being stopped', soon],
  '57P02': () => ['the server is restarting after a crash', soon],
  '57P03': () => ['the server is starting or stopping', soon],
  '57P05': () => ['the server closed an idle connection', soon],
  '28P01': ({ user, password }) =>
    password === null
      ? [
          `it wants a password of ${user}`,
          `Write \${NAME} of an environment variable into store.feedback: ${user}:\${NAME}@…`,
        ]
      : [`the password of ${user} is wrong`, 'Correct the password that store.feedback refers to.'],
  '28': ({ user, database }) => [
    `${user} is not let in`,
    `Make the role and let it in to ${database} in pg_hba.conf, or correct user and sslmode in store.feedback.`,
  ],
  '3D000': ({ user, database }) => [
    `there is no database ${database}`,
    `Make it: CREATE DATABASE "${database}" OWNER "${user}" ENCODING 'UTF8' TEMPLATE template0.`,
  ],
  '3F000': () => ['there is no schema to make tables in', 'Make the schema that search_path names.'],
  '42501': ({ user, database }) => [
    `${user} lacks a permission`,
    `Let it own what it needs: ALTER DATABASE "${database}" OWNER TO "${user}", and the tables if they are another's.`,
  ],
  '25006': () => ['it takes no writes: a copy, or set to read only', 'Name the primary server in store.feedback.'],
  '53100': () => ['the disk of the server is full', 'Free some space: nothing half-written was kept.'],
  '53300': () => ['it has no connection left', 'Raise max_connections, or run fewer workers: each uses at most 5.'],
  '53': () => [
    'the server lacks memory or another resource',
    'Look at its log; the work continues when there is room.',
  ],
  '40': () => ['another transaction was in the way', 'Nothing: it is tried again.'],
  '55P03': () => ['a lock was not to be had', 'End the transaction that a person or a program left open.'],
  '57014': () => ['a statement was cancelled', 'Look at statement_timeout of the role and at who cancels.'],
  XX001: () => ['its data is damaged', 'Restore a backup, or name an empty database and run a sweep.'],
  XX002: () => ['an index of it is damaged', 'Rebuild it with REINDEX.'],
  CERT_HAS_EXPIRED: () => ['its certificate has expired', 'Renew the certificate of the server.'],
  ERR_TLS_CERT_ALTNAME_INVALID: () => [
    'its certificate is for another host',
    'Name the host that the certificate names, or write sslmode=verify-ca into store.feedback.',
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: () => ['its certificate is signed by an unknown authority', trust],
  SELF_SIGNED_CERT_IN_CHAIN: () => ['its certificate is signed by an unknown authority', trust],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: () => ['its certificate is signed by an unknown authority', trust],
  UNABLE_TO_GET_ISSUER_CERT: () => ['its certificate is signed by an unknown authority', trust],
};

/** What the library says without a code, because the server did not answer. */
const byMessage: readonly (readonly [RegExp, (place: PostgresPlace) => Words])[] = [
  [
    /does not support SSL/,
    () => [
      'it does not offer TLS',
      'Turn ssl on there, or write sslmode=disable into store.feedback where the way is safe.',
    ],
  ],
  [/timeout/i, () => ['there was no answer in time', start]],
  [/terminated|connection error|was closed|not queryable/i, () => ['the connection was cut', soon]],
];

/**
 * An error of PostgreSQL or of the connection to it in words for a person. If the server refuses for another reason,
 * the error has only the code and the names of table and constraint: the server's own words may quote what was to be
 * stored. Neither carries the original error. Errors of other kinds are returned unchanged.
 */
export function explainPostgresProblem(place: PostgresPlace, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  const words = wordsOf(code, error.message)?.(place);
  if (words !== undefined) {
    const [problem, fix] = words;
    return new FeedbackStoreUnavailable(place.place, code === '' ? problem : `${problem} (${code})`, fix);
  }
  if (!(error instanceof DatabaseError)) return error;
  const { table, column, constraint } = error;
  const where = Object.entries({ table, column, constraint }).filter(([, name]) => name !== undefined);
  const what = [code, ...where.map((pair) => pair.join(' '))].join(', ');
  return new Error(`PostgreSQL at ${place.place} refused a statement (${what})`);
}

/** Whether this error ends the connection: one with an open transaction must not return to the pool. */
export function isConnectionLost(error: unknown): boolean {
  return !(error instanceof DatabaseError) || error.severity === 'FATAL' || error.severity === 'PANIC';
}

function wordsOf(code: string, message: string): ((place: PostgresPlace) => Words) | undefined {
  for (let length = code.length; length >= 2; length -= 1) {
    const found = Object.hasOwn(byCode, code.slice(0, length)) ? byCode[code.slice(0, length)] : undefined;
    if (found !== undefined) return found;
  }
  return code === '' ? byMessage.find(([pattern]) => pattern.test(message))?.[1] : undefined;
}
