import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import type { ManifestSigner } from '../../../src/exports/signing/manifest-signer.ts';
import type { BundleStore } from '../../../src/exports/store/bundle-store.ts';
import { DirectoryBundleStore } from '../../../src/exports/store/directory-store.ts';
import { S3BundleStore } from '../../../src/exports/store/s3-store.ts';
import { type S3Server, s3ServerProgram, startS3Server } from '../servers/s3-server.ts';
import { tempFolder } from './temp-folder.ts';

/** A new store, with direct access to its files. */
export interface StoreScene {
  store: BundleStore;
  /** Opens the same store as if from another machine. */
  open(signer?: ManifestSigner): Promise<BundleStore>;
  /** Paths of all files except identity and lock, sorted. */
  files(): Promise<string[]>;
  read(path: string): Promise<Buffer>;
  write(path: string, content: string | Buffer): Promise<void>;
  remove(path: string): Promise<void>;
  /** Uploads neither completed nor aborted. */
  unfinished(): Promise<number>;
}

export interface Backend {
  kind: 'directory' | 's3';
  /** False where this machine cannot run it. */
  available: boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
  scene(): Promise<StoreScene>;
}

const publicUrl = 'http://localhost:8090/';

const directory: Backend = {
  kind: 'directory',
  available: true,
  async start() {},
  async stop() {},
  async scene() {
    const root = join(await tempFolder(), 'bundles');
    const open = (signer?: ManifestSigner) => DirectoryBundleStore.open({ root, publicUrl, signer });
    return {
      store: await open(),
      open,
      async files() {
        const paths = await readdir(root, { recursive: true });
        const found = await Promise.all(paths.map(async (path) => (await stat(join(root, path))).isFile()));
        return paths.filter((path, index) => found[index] && !/^\.(lock|store\.json)/.test(path)).sort();
      },
      read: (path) => readFile(join(root, path)),
      async write(path, content) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), content);
      },
      remove: (path) => rm(join(root, path)),
      unfinished: async () => 0,
    };
  },
};

let server: S3Server | null = null;
let prefixes = 0;

/** The S3 server of this test file, between `start` and `stop`. */
export function s3Server(): S3Server {
  if (server === null) throw new Error('the S3 server is not started');
  return server;
}

const program = await s3ServerProgram();

export const s3Backend: Backend = {
  kind: 's3',
  available: program !== null,
  async start() {
    server = await startS3Server(program ?? '');
  },
  async stop() {
    await server?.stop();
  },
  async scene() {
    prefixes += 1;
    const { client, bucket: Bucket, endpoint } = s3Server();
    const prefix = `shared/store-${prefixes}`;
    const at = (path: string) => ({ Bucket, Key: `${prefix}/${path}` });
    const open = async (signer?: ManifestSigner) => {
      const workFolder = join(await tempFolder(), 'work');
      return S3BundleStore.open({ bucket: Bucket, prefix, endpoint, publicUrl, workFolder, signer });
    };
    return {
      store: await open(),
      open,
      async files() {
        const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: `${prefix}/` }));
        const paths = Contents.map(({ Key = '' }) => Key.slice(prefix.length + 1));
        return paths.filter((path) => path !== '.store.json').sort();
      },
      async read(path) {
        const { Body } = await client.send(new GetObjectCommand(at(path)));
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      },
      async write(path, content) {
        await client.send(new PutObjectCommand({ ...at(path), Body: content }));
      },
      async remove(path) {
        await client.send(new DeleteObjectCommand(at(path)));
      },
      async unfinished() {
        const listed = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: prefix }));
        return listed.Uploads?.length ?? 0;
      },
    };
  },
};

/** Both stores, for one suite of tests. */
export const backends: readonly Backend[] = [directory, s3Backend];
