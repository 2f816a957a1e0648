import * as openid from 'openid-client';
import { fetch as fetchBy, ProxyAgent } from '../../http-client.ts';
import { isLoopback, proxyFor } from '../../rules/proxy.ts';
import { type Identity, identityOf, newToken, type Roles } from '../security/sessions.ts';
import { UnbelievedClaim } from './sign-in-errors.ts';

/** An OpenID provider (configuration `console.oidc`). */
export interface OpenIdSetting {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Claim with the groups. */
  groups: string;
}

interface Flow {
  state: string;
  nonce: string;
  verifier: string;
  beganAt: number;
}

const flowMs = 10 * 60_000;
const mostFlows = 1_000;
const mostClockSkewSeconds = 300;

/** Goes through the proxy of the environment, which Node's own `fetch` ignores. */
const fetchThroughProxy: openid.CustomFetch = async (url, options) => {
  const proxy = proxyFor(new URL(url), process.env);
  if (proxy === null) return await fetch(url, options as RequestInit);
  // Closes its idle connection by itself.
  const dispatcher = new ProxyAgent(proxy.href);
  return (await fetchBy(url, { ...options, dispatcher } as Parameters<typeof fetchBy>[1])) as unknown as Response;
};

/** Signs people in at an OpenID provider: authorization code with PKCE, state and nonce. */
export class OpenIdSignIn {
  readonly #setting: OpenIdSetting;
  readonly #redirectUri: string;
  readonly #roles: Roles;
  readonly #flows = new Map<string, Flow>();
  #discovered: Promise<openid.Configuration> | null = null;

  /** `address` is where browsers find the console. */
  constructor(setting: OpenIdSetting, address: string, roles: Roles) {
    this.#setting = setting;
    this.#redirectUri = `${address}/oidc/callback`;
    this.#roles = roles;
  }

  /** Where to send the browser, and the cookie that recognizes its return. */
  async begin(): Promise<{ url: URL; cookie: string }> {
    const configuration = await this.#configuration();
    const cookie = newToken();
    const flow = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      verifier: openid.randomPKCECodeVerifier(),
      beganAt: Date.now(),
    };
    this.#forgetOld();
    this.#flows.set(cookie, flow);
    const url = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri,
      scope: 'openid email profile',
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
    });
    return { url, cookie };
  }

  /**
   * The person who came back with this query: `refused` for a person without a role that lets them look, null if the
   * browser did not begin here or took too long. Throws if the provider's answer cannot be trusted, or there is none.
   */
  async end(query: string, cookie: string | undefined): Promise<Identity | 'refused' | null> {
    const flow = this.#flows.get(cookie ?? '');
    if (cookie === undefined || flow === undefined) return null;
    this.#flows.delete(cookie);
    if (Date.now() - flow.beganAt > flowMs) return null;
    const configuration = await this.#configuration();
    const tokens = await openid.authorizationCodeGrant(configuration, new URL(`${this.#redirectUri}${query}`), {
      pkceCodeVerifier: flow.verifier,
      expectedNonce: flow.nonce,
      expectedState: flow.state,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) return null;
    if (claims.azp !== undefined && claims.azp !== this.#setting.clientId) throw new UnbelievedClaim('azp');
    // It was asked for a moment ago.
    if (Math.abs(Date.now() / 1_000 - claims.iat) > mostClockSkewSeconds) throw new UnbelievedClaim('iat');
    const asked = configuration.serverMetadata().userinfo_endpoint !== undefined;
    const info = asked ? await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
    return this.#identityOf({ ...claims, ...info });
  }

  /** An address counts only if the provider has verified it; otherwise the login is the provider's own id. */
  #identityOf(claims: Readonly<Record<string, unknown>>): Identity | 'refused' {
    const { sub, email, email_verified: verified } = claims;
    const login = typeof email === 'string' && verified === true ? email : String(sub);
    const groups = claims[this.#setting.groups];
    const names = Array.isArray(groups) ? groups.filter((group): group is string => typeof group === 'string') : [];
    return identityOf(login, names, this.#roles) ?? 'refused';
  }

  #configuration(): Promise<openid.Configuration> {
    const { issuer, clientId, clientSecret } = this.#setting;
    const address = new URL(issuer);
    const execute = [openid.enableNonRepudiationChecks];
    if (address.protocol === 'http:' && isLoopback(address.host)) execute.push(openid.allowInsecureRequests);
    this.#discovered ??= openid
      .discovery(address, clientId, clientSecret, undefined, {
        execute,
        timeout: 10,
        [openid.customFetch]: fetchThroughProxy,
      })
      .catch((error: unknown) => {
        this.#discovered = null;
        throw error;
      });
    return this.#discovered;
  }

  #forgetOld(): void {
    for (const [cookie, { beganAt }] of this.#flows) {
      if (this.#flows.size < mostFlows && Date.now() - beganAt <= flowMs) return;
      this.#flows.delete(cookie);
    }
  }
}
