import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FeedbackFilter } from './feedback-query.ts';
import type { Place } from './project-feedback.ts';

/** Where a page begins: after a place, or after a number of entries. */
export type Position = Place | { skip: number };

/** Contents of a cursor. Opaque to clients, and valid only for one project and filter. */
export interface Cursor {
  projectId: string;
  filter: FeedbackFilter;
  /** The page this cursor leads to, counted from 1. */
  page: number;
  position: Position;
  /** Milliseconds since the epoch; 0 if cursors never expire, so that the same page has the same cursor. */
  issuedAt: number;
  /** Start of the previous page; only if cursors are to repeat. */
  previous?: Position;
}

/** Signs cursors with a key derived from the seed, so that they survive a restart of the sandbox. */
export class CursorCodec {
  readonly #key: string;

  constructor(seed: number) {
    this.#key = `sandbox cursors ${seed}`;
  }

  encode(cursor: Cursor): string {
    const body = Buffer.from(JSON.stringify(cursor)).toString('base64url');
    return `${body}.${this.#sign(body)}`;
  }

  /** null for anything `encode` did not make. */
  decode(text: string): Cursor | null {
    const [body = '', signature = ''] = text.split('.');
    const expected = Buffer.from(this.#sign(body));
    const given = Buffer.from(signature);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
    return JSON.parse(Buffer.from(body, 'base64url').toString());
  }

  #sign(body: string): string {
    return createHmac('sha256', this.#key).update(body).digest('base64url').slice(0, 22);
  }
}
