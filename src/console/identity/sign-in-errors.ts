import * as openid from 'openid-client';

/** A claim of the provider's answer that openid-client lets pass. */
export class UnbelievedClaim extends Error {
  override readonly name = 'UnbelievedClaim';
  readonly claim: string;

  constructor(claim: string) {
    super(`the claim ${claim} is not to be believed`);
    this.claim = claim;
  }
}

const times = 'its times are not those of now: the clocks of the provider and of this machine may differ';
const another = 'it belongs to another sign-in than this one';
const reasons: Readonly<Record<string, string>> = {
  aud: 'it was made for another program: check console.oidc.clientId',
  azp: 'it was made for another program: check console.oidc.clientId',
  nonce: another,
  state: another,
  iss: 'it names another issuer than console.oidc.issuer',
  exp: times,
  iat: times,
  nbf: times,
  sub: 'it is about two different people',
};

/** Why the provider's answer signs nobody in, for people. Quotes nothing but names of the protocol. */
export function signInError(error: unknown): { message: string; status: 401 | 503 } {
  if (error instanceof openid.AuthorizationResponseError) return refusedWith(error.error);
  if (error instanceof openid.ResponseBodyError) return refusedWith(error.error);
  const claim = claimIn(error);
  if (claim === null && error instanceof Error && isNetwork(error)) {
    return { message: 'The provider that signs people in does not answer.', status: 503 };
  }
  const why =
    claim === null ? 'it is not as the protocol has it' : `${reasons[claim] ?? 'it is incomplete'} (${claim})`;
  return {
    message: `The provider's answer could not be trusted, so nobody was signed in: ${isUnsigned(error) ? unsigned : why}.`,
    status: 401,
  };
}

const unsigned = 'its signature is of none of the keys that the provider publishes';

function refusedWith(code: string) {
  const shown = /^[a-z_]{1,60}$/.test(code) ? code : 'an error';
  return { message: `The provider did not sign you in: ${shown}. Nobody was signed in.`, status: 401 as const };
}

/** Innermost first: the library says it in a cause, or in words such as `JWT "iat" (issued at) claim missing`. */
function claimIn(error: unknown): string | null {
  for (const { cause, message } of causesOf(error).reverse()) {
    const named = (cause as { claim?: unknown } | undefined)?.claim ?? (cause as { attribute?: unknown })?.attribute;
    const [, told] = /"(\w{1,10})"(?: \([\w ]+\))?(?: claim| response parameter| property)/.exec(message) ?? [];
    if (typeof named === 'string') return named === 'issuer' ? 'iss' : named;
    if (told !== undefined) return told;
  }
  return error instanceof UnbelievedClaim ? error.claim : null;
}

const isUnsigned = (error: unknown): boolean =>
  causesOf(error).some(({ message }) => /signature verification failed|verification key|"alg"/.test(message));

const isNetwork = (error: Error): boolean =>
  error instanceof TypeError || /timeout|Abort/i.test(`${error.name} ${(error as { code?: unknown }).code}`);

function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let one = error; one instanceof Error && causes.length < 5; one = one.cause) causes.push(one);
  return causes;
}
