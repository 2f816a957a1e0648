/** The object store refused several fresh links; bytes on disk are kept for another call. */
export class LinkExpired extends Error {
  override readonly name = 'LinkExpired';
}

/** The download failed; bytes on disk are kept for another call if the object can be proved unchanged. */
export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
  /** Whether the same download may work later. */
  readonly retryable: boolean;
  /** How long the store asked to wait, in milliseconds; null when it did not. */
  readonly retryAfterMs: number | null;

  constructor(message: string, retryable: boolean, retryAfterMs: number | null = null) {
    super(message);
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The archive is larger than allowed. */
export class ArchiveTooLarge extends Error {
  override readonly name = 'ArchiveTooLarge';
}

/** The disk is full, or would be before the download is complete; the message says how much room is needed where. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}
