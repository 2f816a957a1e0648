import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ConsoleOptions } from './console-options.ts';
import type { OpenIdSignIn } from './identity/openid.ts';
import type { ProxyIdentity } from './identity/proxy-identity.ts';
import type { ConsoleReader } from './readings/console-reader.ts';
import type { KnownHosts } from './security/known-hosts.ts';
import type { Session, Sessions } from './security/sessions.ts';
import type { SignInLink } from './security/sign-in-link.ts';

/** A person who is signed in, with the session's cookie. */
export interface SignedIn {
  session: Session;
  cookie: string;
}

export interface ConsoleEnv {
  Bindings: HttpBindings;
  Variables: { signedIn: SignedIn; form: URLSearchParams };
}

export type ConsoleContext = Context<ConsoleEnv>;

/** What the routes share. */
export interface ConsoleApp {
  options: ConsoleOptions;
  reader: ConsoleReader;
  known: KnownHosts;
  sessions: Sessions;
  /** Null where a proxy or provider signs people in, and with `--no-link`. */
  link: SignInLink | null;
  proxy: ProxyIdentity | null;
  openId: OpenIdSignIn | null;
  /** Of the session. */
  cookieName: string;
  /** Aborted when the console stops. */
  closing: AbortSignal;
}
