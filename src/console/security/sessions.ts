import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Identity } from './identity.ts';

/** What the console remembers of somebody who is signed in. */
export interface Session {
  identity: Identity;
  /** Which every form of the session carries. */
  formToken: string;
  /** What was done by forms of the session, by the form's own id. */
  done: Map<string, Promise<string>>;
  /** What to tell on the next page. */
  notes: Map<string, string>;
}

interface Kept {
  session: Session;
  seenAt: number;
}

const mostSessions = 1_000;
const mostRemembered = 100;

/** Sessions by cookie. Only digests of the cookies are kept; an id is always made here, never taken from a browser. */
export class Sessions {
  readonly #idleMs: number;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept>();

  constructor(idleMs: number, now: () => number = Date.now) {
    this.#idleMs = idleMs;
    this.#now = now;
  }

  /** Begins a session, and returns what the browser keeps of it. Of very many the one longest unused ends. */
  begin(identity: Identity): { cookie: string; session: Session } {
    this.#removeIdle();
    const [longestUnused] = this.#kept.keys();
    if (this.#kept.size >= mostSessions && longestUnused !== undefined) this.#kept.delete(longestUnused);
    const cookie = newToken();
    const session = { identity, formToken: newToken(), done: new Map(), notes: new Map() };
    this.#kept.set(keyOf(cookie), { session, seenAt: this.#now() });
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
    if (this.#now() - kept.seenAt > this.#idleMs) {
      this.#kept.delete(key);
      return null;
    }
    if (by === 'person') {
      // The one used last is the last.
      this.#kept.delete(key);
      this.#kept.set(key, { ...kept, seenAt: this.#now() });
    }
    return kept.session;
  }

  /** Whether the session goes on, without counting as used: a stream is not a person. */
  lasts(cookie: string): boolean {
    const kept = this.#kept.get(keyOf(cookie));
    return kept !== undefined && this.#now() - kept.seenAt <= this.#idleMs;
  }

  end(cookie: string | undefined): void {
    if (cookie !== undefined) this.#kept.delete(keyOf(cookie));
  }

  /** Ends all: everybody has to sign in again. */
  endAll(): void {
    this.#kept.clear();
  }

  #removeIdle(): void {
    for (const [key, { seenAt }] of this.#kept) {
      if (this.#now() - seenAt <= this.#idleMs) return;
      this.#kept.delete(key);
    }
  }
}

/** 32 random bytes. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** Whether two secrets are equal; takes as long whatever they are. */
export function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b));
}

/** Remembers a few: the oldest are forgotten. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > mostRemembered && oldest !== undefined) map.delete(oldest);
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const keyOf = (cookie: string): string => digestOf(cookie).toString('base64');
