import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { ConsoleSetting } from './console-setting.ts';
import type { OpenIdSetting, OpenIdSignIn } from './identity/openid.ts';
import type { ProxyIdentity, ProxySetting } from './identity/proxy-identity.ts';
import type { Previews } from './previews.ts';
import type { ConsoleReader } from './readings/console-reader.ts';
import type { ReadingTimes } from './readings/shared-reading.ts';
import type { KnownHosts } from './security/request-guard.ts';
import type { Roles, Session, Sessions, SignInLink } from './security/sessions.ts';

export interface ConsoleOptions {
  setting: ConsoleSetting;
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** Its address for browsers behind a proxy; null for where it listens. */
  url: string | null;
  /** Address of previews, `*` standing for each preview's name; null for names below `localhost`. */
  previewUrl: string | null;
  /** Whether operators may act. */
  write: boolean;
  /** A session ends after this long without a request, in milliseconds. */
  idleMs: number;
  /** A session ends this long after it began, in milliseconds. */
  lifetimeMs: number;
  roles: Roles;
  proxy: ProxySetting | null;
  openId: OpenIdSetting | null;
  /** False for no link to sign in by; with a proxy or provider there is none anyway. */
  link: boolean;
  /** Called with the next address to sign in by whenever one has been used. */
  onNewLink(url: string): void;
  times?: ReadingTimes;
}

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
  previews: Previews;
  known: KnownHosts;
  sessions: Sessions;
  /** Null where a proxy or provider signs people in, and with `--no-link`. */
  link: SignInLink | null;
  proxy: ProxyIdentity | null;
  openId: OpenIdSignIn | null;
  /** Of the session. */
  cookieName: string;
  /** Of a sign-in at the provider, until it ends. */
  signInCookie: string;
  /** Aborted when the console stops. */
  closing: AbortSignal;
}
