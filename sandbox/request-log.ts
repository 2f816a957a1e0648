/** One request the sandbox received. Never holds a query, a key, a link or a body. */
export interface LogEntry {
  /** Milliseconds since the epoch at arrival, carried by the monotonic clock. */
  at: number;
  /** The same moment on the monotonic clock, in milliseconds. */
  atMono: number;
  port: 'api' | 'storage';
  kind: 'analytics' | 'export' | 'storage' | 'other';
  /** The organization of the key, or null without a valid one. */
  org: string | null;
  method: string;
  /** Without the query. */
  path: string;
  /** Null until the answer, and if the connection was reset. */
  status: number | null;
  /** Whether it used a slot of the rate window. */
  counted: boolean;
  /** Bytes of the body sent. */
  bytes: number;
  /** The Range header as received. */
  range: string | null;
  projectId: string | null;
  hadAuthorization: boolean;
  /** The fault that struck, if any. */
  fault: string | null;
}

const mostEntries = 300_000;
const forgottenAtOnce = 50_000;

/** The latest 250,000 requests and more, in the order of their arrival. */
export class RequestLog {
  readonly #entries: LogEntry[] = [];
  #forgotten = 0;

  add(entry: LogEntry): LogEntry {
    if (this.#entries.length >= mostEntries) {
      this.#entries.splice(0, forgottenAtOnce);
      this.#forgotten += forgottenAtOnce;
    }
    this.#entries.push(entry);
    return entry;
  }

  get entries(): readonly LogEntry[] {
    return this.#entries;
  }

  /** How many of the oldest requests have been dropped. */
  get forgotten(): number {
    return this.#forgotten;
  }
}
