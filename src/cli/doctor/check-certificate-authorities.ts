import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { bad, type Check, good, warning } from './check.ts';

const name = 'certificate-authorities';
const begin = '-----BEGIN CERTIFICATE-----';
const setIt = 'set NODE_EXTRA_CA_CERTS to a readable PEM file before the process starts, or unset it';

/** Extra certificate authorities: if their file is unusable, Node silently goes on without them. */
export function certificateAuthoritiesCheck(file: string | undefined, now: Date): Check {
  if (!file) return good(name, "those that come with Node (NODE_EXTRA_CA_CERTS isn't set)");
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return bad(name, `NODE_EXTRA_CA_CERTS names ${file}, which cannot be read (${code})`, setIt);
  }
  const certificates = text.split(begin).slice(1);
  if (certificates.length === 0)
    return bad(name, `NODE_EXTRA_CA_CERTS names ${file}, which contains none in PEM`, setIt);
  const parsed = certificates.map(parse);
  if (parsed.includes(null)) return bad(name, `a certificate in ${file} cannot be read`, setIt);
  const old = parsed.filter((certificate) => certificate && new Date(certificate.validTo) < now);
  // Bundles of public authorities include expired ones.
  const expired = old.length === 0 ? '' : `, ${old.length} of them expired`;
  const detail = `those of Node and ${certificates.length} in ${file}${expired}`;
  return old.length < parsed.length ? good(name, detail) : warning(name, detail, 'replace them with their successors');
}

function parse(text: string): X509Certificate | null {
  try {
    return new X509Certificate(begin + text);
  } catch {
    return null;
  }
}
