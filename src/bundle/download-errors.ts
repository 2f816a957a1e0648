/** The object store no longer takes the link (401, 403, or its 400 for expired tokens): ask for a new one, go on. */
export class LinkExpired extends Error {
  override readonly name = 'LinkExpired';
}

/** The download failed; bytes on disk are kept for another call if the object can be proved unchanged. */
export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
  /** Whether the same may work later. */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

/** The archive is larger than allowed. */
export class ArchiveTooLarge extends Error {
  override readonly name = 'ArchiveTooLarge';
}
