export interface ErasureRequest {
  /** As a person writes it. */
  contact: string;
  /** Only in this project; by default in all, later ones included. */
  project?: string;
  /** Of the project. */
  org?: string;
  at: Date;
  /** Who erases, for the audit. */
  who?: string;
}

/** What an erasure removed. */
export interface Erasure {
  /** Keyed hash of the contact, by which it is kept out. */
  contact: string;
  entries: number;
  changes: number;
  rejects: number;
  /** Those in which there was anything of the person. */
  projects: { project: string; entries: number; changes: number; rejects: number }[];
  /** Whether what was removed is gone from the database's files too, as far as they are the database's own. */
  scrubbed: boolean;
}

/** Rows that were not as `privacy` asks for. */
export interface Treated {
  entries: number;
  rejects: number;
}

/** What must not stay (privacy.md). Safe to repeat. */
export interface PrivacyStore {
  /**
   * Removes a person from every table and keeps them out of later pages, even if they were not stored. One transaction.
   */
  erase(request: ErasureRequest): Promise<Erasure>;
  /** Removes from everything stored what `privacy` does not let stay, in many transactions. */
  applyPrivacy(at: Date): Promise<Treated>;
  /** Removes from one project what has become too old. */
  expire(project: string, at: Date): Promise<Treated>;
  /** Counts the rows that are not yet as `privacy` asks for. */
  countUntreated(at: Date): Promise<Treated>;
}
