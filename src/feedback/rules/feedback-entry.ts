/** A feedback entry as the store keeps it: the fields of service-interface.md "Feedback entry", unknown ones in `extra`. */
export interface FeedbackEntry {
  id: string;
  path: string;
  comment: string | null;
  /** As sent. */
  createdAt: string | null;
  /** Known values or any other string, as sent. */
  source: string;
  status: string;
  /** Fields of the variants; null where the variant lacks them. */
  helpful: boolean | null;
  contact: string | null;
  code: string | null;
  filename: string | null;
  lang: string | null;
  /** Fields the interface does not name, as sent. */
  extra: Record<string, unknown>;
}

/** An entry that docferry cannot understand, with what it needs to understand it later. */
export interface RejectedEntry {
  /** The entry's own id where it has one, else `sha256:` and the first 32 hex digits of the digest of `raw`. */
  id: string;
  /** The entry's JSON text, as sent. */
  raw: string;
  /** Names the field and what it held by type, never its content. */
  reason: string;
}
