import { constants } from 'node:fs';
import { access, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sizeIfExists } from '../../../files/if-missing.ts';
import { abandonedAfterMs, removeAbandonedDownloads } from '../abandoned-files.ts';
import type { StagedManifest, Work } from '../bundle-store.ts';
import { changing, StagedChanged } from '../store-errors.ts';
import { parseStaged, toJson } from '../store-json.ts';
import { stagingPath, stagingRoot } from '../store-layout.ts';
import { storeName } from '../store-names.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { abortUploads, uploadArchive } from './s3-multipart.ts';

/** Older uploads were left by a process that died: no attempt of a step takes so long. */
const uploadDiesAfterMs = 24 * 3_600_000;

/**
 * Archives on their way to becoming versions: downloaded to a folder of this machine, and once verified staged in the
 * bucket, so that the worker that publishes need not be the one that downloaded.
 */
export class S3Staging {
  readonly #bucket: S3Bucket;
  readonly #workFolder: string;

  constructor(bucket: S3Bucket, workFolder: string) {
    this.#bucket = bucket;
    this.#workFolder = workFolder;
  }

  async localFile(stageId: string): Promise<string> {
    const file = this.#localArchive(stageId);
    await changing(this.#workFolder, () => mkdir(dirname(file), { recursive: true, mode: 0o700 }));
    return file;
  }

  /** Uploads the local file and what is known of it, and removes it here. Throws `StagedChanged`. */
  async save(stageId: string, manifest: StagedManifest, work: Work): Promise<void> {
    const { sha256, bytes } = manifest.archive;
    const path = archivePath(stageId, manifest);
    // Named by its content and checked when it was uploaded: what is there is right.
    if ((await this.#bucket.stat(path))?.bytes !== bytes) {
      const file = this.#localArchive(stageId);
      if ((await sizeIfExists(file)) !== bytes)
        throw new StagedChanged('the staged archive is not the one that was verified');
      await uploadArchive(this.#bucket, path, { file, sha256, bytes }, work);
    }
    await this.#bucket.write(manifestPath(stageId), toJson(manifest), null);
    await this.#removeLocal(stageId);
  }

  /** Makes the folder of this machine. Throws `StoreNotWritable`. */
  async checkWritable(): Promise<void> {
    await changing(this.#workFolder, async () => {
      await mkdir(this.#workFolder, { recursive: true, mode: 0o700 });
      await access(this.#workFolder, constants.W_OK | constants.X_OK);
    });
  }

  /** What was saved, and where. Throws `StagedChanged`. */
  async saved(stageId: string): Promise<{ manifest: StagedManifest; path: string }> {
    const found = await this.#bucket.read(manifestPath(stageId));
    if (found === null) throw new StagedChanged(`nothing verified is staged as ${stageId}`);
    const manifest = parseStaged(found.text);
    return { manifest, path: archivePath(stageId, manifest) };
  }

  /** Fine when there is nothing. */
  async discard(stageId: string): Promise<void> {
    await this.#removeLocal(stageId);
    const folder = `${stagingPath(stageId)}/`;
    await abortUploads(this.#bucket, folder, null);
    for (const { path } of await this.#bucket.list(folder)) await this.#bucket.remove(path);
  }

  /** Removes what dead processes left here and in the bucket, parts of versions included. */
  async sweep(now: Date): Promise<void> {
    await changing(this.#workFolder, () => removeAbandonedDownloads(this.#workFolder, now));
    await abortUploads(this.#bucket, '', new Date(now.getTime() - uploadDiesAfterMs));
    for (const { path, modified } of await this.#bucket.list(`${stagingRoot}/`)) {
      if (now.getTime() - modified.getTime() > abandonedAfterMs) await this.#bucket.remove(path);
    }
  }

  async #removeLocal(stageId: string): Promise<void> {
    const folder = dirname(this.#localArchive(stageId));
    await changing(this.#workFolder, () => rm(folder, { recursive: true, force: true }));
  }

  #localArchive(stageId: string): string {
    return join(this.#workFolder, storeName('stage id', stageId), 'archive');
  }
}

const manifestPath = (stageId: string): string => `${stagingPath(stageId)}/staged.json`;
/** By content: an attempt that was given up for dead and goes on cannot replace what another has verified. */
const archivePath = (stageId: string, { archive }: StagedManifest): string =>
  `${stagingPath(stageId)}/${archive.sha256}`;
