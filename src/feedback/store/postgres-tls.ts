import { readFile } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import type { PostgresPlace } from './postgres-place.ts';

/** The settings of TLS for a place; false for none. Throws what the system says of a certificate that cannot be read. */
export async function postgresTls({ host, tls }: PostgresPlace): Promise<ConnectionOptions | false> {
  if (tls.mode === 'disable') return false;
  const [ca, cert, key] = await Promise.all([tls.rootCert, tls.cert, tls.key].map(textOf));
  return {
    // Without a name, Node would compare an IP address with the certificate of "localhost".
    host,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(tls.mode === 'require' ? { rejectUnauthorized: false } : {}),
    ...(tls.mode === 'verify-ca' ? { checkServerIdentity: () => undefined } : {}),
  };
}

async function textOf(path: string | null): Promise<string | undefined> {
  return path === null ? undefined : await readFile(path, 'utf8');
}
