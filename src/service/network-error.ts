import { NetworkError } from './errors.ts';
import { ProxyFailed } from './proxy.ts';

interface Meaning {
  message: string;
  hint?: string;
}

const untrusted: Meaning = {
  message: 'its TLS certificate is not trusted',
  hint: 'for a certificate authority of your own set NODE_EXTRA_CA_CERTS to its PEM file',
};

const meanings: Record<string, Meaning> = {
  ECONNREFUSED: { message: 'it refused the connection', hint: 'check the address and that the service is running' },
  ENOTFOUND: { message: 'its name is not known', hint: 'check the address' },
  EAI_AGAIN: { message: 'its name could not be looked up for now' },
  ECONNRESET: { message: 'the connection was cut' },
  EPIPE: { message: 'the connection was cut' },
  ETIMEDOUT: { message: 'the connection timed out' },
  EHOSTUNREACH: { message: 'there is no way to its host' },
  ENETUNREACH: { message: 'there is no way to its network' },
  EPROTO: { message: 'it does not speak TLS as expected' },
  ERR_TLS_CERT_ALTNAME_INVALID: { message: 'its TLS certificate is for another name', hint: 'check the address' },
  CERT_HAS_EXPIRED: { message: 'its TLS certificate has expired' },
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
};

/** The error for a request that got no whole answer, from whatever was thrown; only its code is kept. */
export function networkErrorFor(error: unknown, host: string, mayHaveArrived: boolean): NetworkError {
  if (error instanceof ProxyFailed) {
    const message = `cannot talk to ${host}: ${error.message}`;
    return new NetworkError(message, 'EPROXY', mayHaveArrived, 'check HTTPS_PROXY and NO_PROXY');
  }
  const code = codeOf(error);
  const meaning = meanings[code] ?? { message: `the exchange failed (${code})` };
  return new NetworkError(`cannot talk to ${host}: ${meaning.message}`, code, mayHaveArrived, meaning.hint ?? null);
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'UNKNOWN';
}
