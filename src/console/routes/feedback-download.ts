import { setImmediate as letOthersRun } from 'node:timers/promises';
import { csv } from '../../feedback/files/csv-file.ts';
import type { FeedbackRecord } from '../../feedback/files/feedback-record.ts';
import type { LineFormat } from '../../feedback/files/file-format.ts';
import { jsonLines } from '../../feedback/files/jsonl-file.ts';
import { lines } from '../../feedback/files/line-pieces.ts';
import { ConsoleFailure } from '../console-failure.ts';

/** What a selection can be loaded as. CSV is for spreadsheets, so that nothing in it may run there. */
export const downloadFormats = {
  csv: { type: 'text/csv; charset=UTF-8', format: csv({ formulaSafe: true }) },
  jsonl: { type: 'application/x-ndjson; charset=UTF-8', format: jsonLines },
} as const;

/** Most records in a file. */
export const mostInFile = 100_000;

const mostAtOnce = 6;
/** By one login, which may have many sessions: one person must not take the places of all. */
const mostOfLogin = 2;
/** A browser that takes a file more slowly loses it. */
const longestMs = 10 * 60_000;

/** The files that browsers load at a time: a few, each read as fast as its browser takes it. */
export class Downloads {
  readonly #closing: AbortSignal;
  /** The login of each. */
  readonly #open: string[] = [];

  /** `closing` ends all. */
  constructor(closing: AbortSignal) {
    this.#closing = closing;
  }

  /**
   * A file of records. The first are read before this returns, so that a store that is away is a page and not half a file.
   */
  async begin(
    login: string,
    records: AsyncIterable<FeedbackRecord>,
    format: LineFormat,
  ): Promise<ReadableStream<Uint8Array>> {
    if (this.#open.filter((other) => other === login).length >= mostOfLogin) {
      const hint = `wait until one has ended, or end one: at most ${mostOfLogin} at a time`;
      throw new ConsoleFailure('Busy', `you are loading ${mostOfLogin} files already`, hint);
    }
    if (this.#open.length >= mostAtOnce) {
      throw new ConsoleFailure('Busy', 'others are loading files', 'try again in a minute');
    }
    const pieces = this.#pieces(login, records, format);
    let first: IteratorResult<string> | null = await pieces.next();
    const ended = AbortSignal.any([this.#closing, AbortSignal.timeout(longestMs)]);
    const encoder = new TextEncoder();
    return new ReadableStream<Uint8Array>(
      {
        start(controller) {
          const end = () => {
            controller.error(ended.reason);
            void pieces.return(undefined);
          };
          ended.addEventListener('abort', end, { once: true });
        },
        async pull(controller) {
          const { done, value } = first ?? (await pieces.next());
          first = null;
          if (done) controller.close();
          else controller.enqueue(encoder.encode(value));
        },
        cancel: async () => {
          await pieces.return(undefined);
        },
      },
      { highWaterMark: 0 },
    );
  }

  async *#pieces(
    login: string,
    records: AsyncIterable<FeedbackRecord>,
    format: LineFormat,
  ): AsyncGenerator<string, undefined, undefined> {
    this.#open.push(login);
    try {
      const encoder = lines(format);
      let count = 0;
      for await (const record of records) {
        const piece = encoder.add(record);
        if (piece !== null) {
          yield String(piece);
          // SQLite and a browser that takes all at once would leave no turn to other requests.
          await letOthersRun();
        }
        count += 1;
        if (count === mostInFile) break;
      }
      yield String(encoder.end());
      return undefined;
    } finally {
      this.#open.splice(this.#open.indexOf(login), 1);
    }
  }
}
