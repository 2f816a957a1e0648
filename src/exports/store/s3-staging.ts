import { constants } from 'node:fs';
import { access, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sizeIfExists } from '../../if-missing.ts';
import { abandonedAfterMs, removeAbandonedDownloads } from './abandoned-files.ts';
import type { StagedManifest, Work } from './bundle-store.ts';
import { requireSealed, sealedManifest } from './staged-seal.ts';
import { changing, StagedChanged } from './store-errors.ts';
import { toJson } from './store-json.ts';
import { stagingPath, stagingRoot } from './store-layout.ts';
import { storeName } from './store-names.ts';
import type { S3Bucket } from './s3-bucket.ts';
import { abortUploads, uploadArchive } from './s3-multipart.ts';

/** An upload older than this was abandoned: no attempt of a step takes as long. */
const uploadAbandonedAfterMs = 24 * 3_600_000;

/**
 * Archives that are not published yet: downloaded to a folder of this machine, and staged in the bucket once verified,
 * so that the worker that publishes need not be the one that downloaded.
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

  /** Uploads the local file and its manifest, then removes the local file. Throws `StagedChanged`. */
  async save(stageId: string, manifest: StagedManifest, work: Work): Promise<void> {
    const { sha256, bytes } = manifest.archive;
    const path = archivePath(stageId, manifest);
    // Its name is that of its content, which was checked when it was uploaded.
    if ((await this.#bucket.stat(path))?.bytes !== bytes) {
      const file = this.#localArchive(stageId);
      if ((await sizeIfExists(file)) !== bytes)
        throw new StagedChanged('the staged archive is not the one that was verified');
      await uploadArchive(this.#bucket, path, { file, sha256, bytes }, work);
    }
    await this.#bucket.write(manifestPath(stageId), toJson(manifest), null);
    await this.#removeLocal(stageId);
  }

  /** Creates the folder of this machine. Throws `StoreNotWritable`. */
  async checkWritable(): Promise<void> {
    await changing(this.#workFolder, async () => {
      await mkdir(this.#workFolder, { recursive: true, mode: 0o700 });
      await access(this.#workFolder, constants.W_OK | constants.X_OK);
    });
  }

  /** What was saved, and where. Throws `StagedChanged`. */
  async saved(stageId: string, seal: string): Promise<{ manifest: StagedManifest; path: string }> {
    const manifest = requireSealed(await this.#savedText(stageId), stageId, seal);
    return { manifest, path: archivePath(stageId, manifest) };
  }

  /** What was saved, if it is the sealed one and its archive is still there; null otherwise. */
  async find(stageId: string, seal: string): Promise<StagedManifest | null> {
    const manifest = sealedManifest(await this.#savedText(stageId), seal);
    if (manifest === null) return null;
    const archive = await this.#bucket.stat(archivePath(stageId, manifest));
    return archive?.bytes === manifest.archive.bytes ? manifest : null;
  }

  /** Does nothing when nothing is staged. */
  async discard(stageId: string): Promise<void> {
    await this.#removeLocal(stageId);
    const folder = `${stagingPath(stageId)}/`;
    await abortUploads(this.#bucket, folder, null);
    for (const { path } of await this.#bucket.list(folder)) await this.#bucket.remove(path);
  }

  /** Removes what dead processes left here and in the bucket, unfinished uploads of versions included. */
  async removeAbandoned(now: Date): Promise<void> {
    await changing(this.#workFolder, () => removeAbandonedDownloads(this.#workFolder, now));
    await abortUploads(this.#bucket, '', new Date(now.getTime() - uploadAbandonedAfterMs));
    for (const { path, modified } of await this.#bucket.list(`${stagingRoot}/`)) {
      if (now.getTime() - modified.getTime() > abandonedAfterMs) await this.#bucket.remove(path);
    }
  }

  async #savedText(stageId: string): Promise<string | null> {
    return (await this.#bucket.read(manifestPath(stageId)))?.text ?? null;
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
/** Named by content: an attempt that was presumed dead and continues cannot replace what another has verified. */
const archivePath = (stageId: string, { archive }: StagedManifest): string =>
  `${stagingPath(stageId)}/${archive.sha256}`;
