/** Archive formats, recognized by their bytes (verification.md). */
export type ArchiveFormat = 'tar.gz' | 'tar' | 'zip';

/** A verification rule that an archive broke (contracts.md, `export verify`). */
export interface Reason {
  /** Stable kebab-case name of the rule, e.g. `path-traversal`. */
  rule: string;
  /** Path inside the archive, made printable and cut to 200 characters; null for the whole archive. */
  path: string | null;
  detail: string;
}

export interface ArchiveFacts {
  /** Lowercase hex SHA-256 of the archive's bytes. */
  sha256: string;
  bytes: number;
  format: ArchiveFormat;
}
