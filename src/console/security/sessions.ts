import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { isReservedName, longestName, terminalName } from '../../runs/rules/audit.ts';

/** A person who is signed in. */
export interface Identity {
  /** The login at the proxy or provider; `terminal` for a person with the link from the terminal. */
  login: string;
  /** Whether the roles let them act; the configuration must allow it too. */
  operator: boolean;
  /** Whether they see the addresses that readers left. */
  contacts: boolean;
}

/** People by their groups and logins, kept apart: a login must not gain what a group of the same name may do. */
export interface Names {
  groups: readonly string[];
  logins: readonly string[];
}

/** Who may look, act and see contacts (configuration `console`). */
export interface Roles {
  /** Null for everybody who is signed in. */
  viewers: Names | null;
  operators: Names;
  contacts: Names;
}

/** A person with the link printed on the terminal: they could use the command line as well. */
export const terminalIdentity: Identity = { login: terminalName, operator: true, contacts: true };

/** The identity of a login with its groups; null when the roles do not let it in, or the audit could not name it. */
export function identityOf(login: string, groups: readonly string[], roles: Roles): Identity | null {
  if (login === '' || login.length > longestName || isReservedName(login)) return null;
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(login)) return null;
  const is = (names: Names) => names.logins.includes(login) || groups.some((group) => names.groups.includes(group));
  const operator = is(roles.operators);
  const contacts = is(roles.contacts);
  const isIn = operator || contacts || roles.viewers === null || is(roles.viewers);
  return isIn ? { login, operator, contacts } : null;
}

/** Whether it is still the same person with the same roles. */
export function sameIdentity(a: Identity, b: Identity): boolean {
  return a.login === b.login && a.operator === b.operator && a.contacts === b.contacts;
}

/** What the console remembers of a person who is signed in. */
export interface Session {
  identity: Identity;
  /** Whether a proxy named the person: then the session needs its word at every request. */
  byProxy: boolean;
  /** Which every form of the session carries. */
  formToken: string;
  /** What was done by forms of the session, by the form's own id. */
  done: Map<string, Promise<string>>;
  /** What to tell on the next page. */
  notes: Map<string, string>;
  /** Aborted when the session ends, unless its time is over, which no event announces. */
  ended: AbortSignal;
}

/** The sessions of a login. */
export interface SignedInLogin {
  login: string;
  sessions: number;
  /** When the first began and when the last was used, in milliseconds since the epoch. */
  beganAt: number;
  seenAt: number;
}

interface Kept {
  session: Session;
  ending: AbortController;
  beganAt: number;
  seenAt: number;
}

const mostSessions = 1_000;
/** A program behind a proxy that keeps no cookies begins one with every request. */
const mostOfLogin = 100;
const mostRemembered = 100;

/** Sessions by cookie. Only digests of the cookies are kept; an id is always made here, never taken from a browser. */
export class Sessions {
  readonly #idleMs: number;
  readonly #lifetimeMs: number;
  readonly #now: () => number;
  /** The one used last is the last. */
  readonly #kept = new Map<string, Kept>();
  readonly #revoked = new Set<string>();

  /** A session ends after `idleMs` without a request, and `lifetimeMs` after it began. */
  constructor({ idleMs, lifetimeMs }: { idleMs: number; lifetimeMs: number }, now: () => number = Date.now) {
    this.#idleMs = idleMs;
    this.#lifetimeMs = lifetimeMs;
    this.#now = now;
  }

  /**
   * Begins a session, and returns what the browser keeps of it. Of very many the one longest unused ends, first among those
   * of the same login.
   */
  begin(identity: Identity, byProxy = false): { cookie: string; session: Session } {
    this.#removeOver();
    const own = [...this.#kept].filter(([, { session }]) => session.identity.login === identity.login);
    const [longestUnusedOfLogin] = own;
    if (own.length >= mostOfLogin && longestUnusedOfLogin !== undefined) this.#remove(longestUnusedOfLogin[0]);
    const [longestUnused] = this.#kept.keys();
    if (this.#kept.size >= mostSessions && longestUnused !== undefined) this.#remove(longestUnused);
    const cookie = newToken();
    const ending = new AbortController();
    // As many as there are streams of events.
    setMaxListeners(0, ending.signal);
    const remembered = { done: new Map(), notes: new Map() };
    const session = { identity, byProxy, formToken: newToken(), ...remembered, ended: ending.signal };
    this.#kept.set(keyOf(cookie), { session, ending, beganAt: this.#now(), seenAt: this.#now() });
    return { cookie, session };
  }

  /**
   * The session of a cookie, which thereby counts as used unless a script asked; null when there is none, or none any more.
   */
  find(cookie: string | undefined, by: 'person' | 'script' = 'person'): Session | null {
    if (cookie === undefined) return null;
    const key = keyOf(cookie);
    const kept = this.#kept.get(key);
    if (kept === undefined) return null;
    if (this.#isOver(kept)) {
      this.#remove(key);
      return null;
    }
    if (by === 'person') {
      this.#kept.delete(key);
      this.#kept.set(key, { ...kept, seenAt: this.#now() });
    }
    return kept.session;
  }

  /** Whether the session continues, without counting as used: a stream is not a person. */
  lasts(cookie: string): boolean {
    const kept = this.#kept.get(keyOf(cookie));
    return kept !== undefined && !this.#isOver(kept);
  }

  end(cookie: string | undefined): void {
    if (cookie !== undefined) this.#remove(keyOf(cookie));
  }

  /** Ends all sessions of a login, and returns how many there were. Their cookies are known as revoked. */
  revoke(login: string): number {
    const found = [...this.#kept].filter(([, { session }]) => session.identity.login === login);
    for (const [key] of found) {
      this.#remove(key);
      this.#revoked.add(key);
    }
    for (const oldest of this.#revoked) {
      if (this.#revoked.size <= mostSessions) break;
      this.#revoked.delete(oldest);
    }
    return found.length;
  }

  /** Whether a cookie is that of a revoked session: a proxy's word must not bring it back to life unnoticed. */
  isRevoked(cookie: string | undefined): boolean {
    return cookie !== undefined && this.#revoked.has(keyOf(cookie));
  }

  /** Who is signed in, those seen last first. */
  logins(): SignedInLogin[] {
    this.#removeOver();
    const logins = new Map<string, SignedInLogin>();
    for (const { session, beganAt, seenAt } of this.#kept.values()) {
      const { login } = session.identity;
      const before = logins.get(login);
      logins.set(login, {
        login,
        sessions: (before?.sessions ?? 0) + 1,
        beganAt: Math.min(before?.beganAt ?? beganAt, beganAt),
        seenAt: Math.max(before?.seenAt ?? seenAt, seenAt),
      });
    }
    return [...logins.values()].sort((a, b) => b.seenAt - a.seenAt);
  }

  #isOver({ beganAt, seenAt }: Kept): boolean {
    return this.#now() - seenAt > this.#idleMs || this.#now() - beganAt > this.#lifetimeMs;
  }

  #removeOver(): void {
    for (const [key, kept] of this.#kept) if (this.#isOver(kept)) this.#remove(key);
  }

  #remove(key: string): void {
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    kept?.ending.abort();
  }
}

/** 32 random bytes. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** Whether two secrets are equal, in constant time. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b));
}

/** Remembers a few: the oldest are dropped. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > mostRemembered && oldest !== undefined) map.delete(oldest);
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const keyOf = (cookie: string): string => digestOf(cookie).toString('base64');

/** The secret in the printed address. It works once; then another takes its place. */
export class SignInLink {
  readonly #address: string;
  readonly #onNew: (url: string) => void;
  #token = newToken();

  /** Calls `onNew` with each address after the first. */
  constructor(address: string, onNew: (url: string) => void) {
    this.#address = address;
    this.#onNew = onNew;
  }

  get url(): string {
    return `${this.#address}/sign-in?token=${this.#token}`;
  }

  /** Whether this is the token; it is used up then. */
  use(token: string): boolean {
    if (!sameSecret(token, this.#token)) return false;
    this.#token = newToken();
    this.#onNew(this.url);
    return true;
  }
}
