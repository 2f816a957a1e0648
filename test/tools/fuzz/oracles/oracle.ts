import type { ArchiveFormat } from '../../../../src/exports/rules/site-export.ts';
import type { Tree } from './tree.ts';

/** An archive that the verifier accepted, in memory and on disk. */
export interface AcceptedArchive {
  format: ArchiveFormat;
  bytes: Buffer;
  file: string;
}

/** A reader that deployments use, to which the verifier is compared. */
export interface Oracle {
  name: string;
  version: string;
  formats: readonly ArchiveFormat[];
  /** What it unpacks the archive to; `folder` does not exist and may be used. Throws when the reader refuses. */
  read(archive: AcceptedArchive, folder: string): Promise<Tree>;
  close(): void;
}

/** The oracles on this machine, and the names of those it lacks. */
export interface Oracles {
  installed: readonly Oracle[];
  missing: readonly string[];
}
