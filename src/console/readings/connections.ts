import type { Client } from '@temporalio/client';
import type { BundleStore } from '../../exports/store/bundle-store.ts';
import type { FeedbackStore } from '../../feedback/store/feedback-store.ts';
import type { ConsoleSetting } from '../console-setting.ts';

/** One connection to Temporal and to each store for all viewers, opened when first needed. */
export class Connections {
  readonly temporal: () => Promise<Client>;
  readonly feedback: () => Promise<FeedbackStore>;
  readonly bundles: () => Promise<BundleStore>;
  readonly #closing: (() => Promise<void>)[] = [];

  constructor({ connect, openFeedback, openBundles }: ConsoleSetting) {
    this.temporal = this.#kept(connect, ({ connection }) => connection.close());
    this.feedback = this.#kept(openFeedback, (store) => store.close());
    this.bundles = this.#kept(openBundles, async () => {});
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#closing.map((close) => close()));
  }

  /** What could not be opened is tried again the next time. */
  #kept<Opened>(open: () => Promise<Opened>, close: (opened: Opened) => Promise<void>): () => Promise<Opened> {
    let opening: Promise<Opened> | null = null;
    this.#closing.push(async () => {
      if (opening !== null) await close(await opening);
    });
    return () => {
      opening ??= open().catch((error: unknown) => {
        opening = null;
        throw error;
      });
      return opening;
    };
  }
}
