import { mkdirSync } from 'node:fs';
import { crc32, gunzipSync } from 'node:zlib';
import { x as unpackWithNpmTar } from 'tar';
import { extract } from 'tar-stream';
import { fromBufferPromise } from 'yauzl';
import type { AcceptedArchive, Oracle } from './oracle.ts';
import { addFile, addFolder, sha256Of, type Tree, treeOnDisk } from './tree.ts';

/** Far above what any input of a run unpacks to. */
const mostBytes = 64 * 1024 ** 2;

const close = () => undefined;

/** The libraries of Node, without their versions. */
export const libraryOracles: readonly Omit<Oracle, 'version'>[] = [
  { name: 'tar', formats: ['tar', 'tar.gz'], read: readWithNpmTar, close },
  { name: 'tar-stream', formats: ['tar', 'tar.gz'], read: readWithTarStream, close },
  { name: 'yauzl', formats: ['zip'], read: readWithYauzl, close },
];

async function readWithNpmTar({ file }: AcceptedArchive, folder: string): Promise<Tree> {
  mkdirSync(folder);
  unpackWithNpmTar({ file, cwd: folder, sync: true, strict: true });
  return treeOnDisk(folder);
}

async function readWithTarStream({ bytes, format }: AcceptedArchive): Promise<Tree> {
  const tar = extract();
  tar.end(format === 'tar.gz' ? gunzipSync(bytes, { maxOutputLength: mostBytes }) : bytes);
  const tree: Tree = new Map();
  for await (const entry of tar) {
    const content = await gather(entry as AsyncIterable<Uint8Array>);
    const path = entry.header.name.replace(/^\.(\/|$)/, '').replace(/\/$/, '');
    if (path === '') continue;
    if (entry.header.type === 'file') addFile(tree, path, sha256Of(content));
    else if (entry.header.type === 'directory') addFolder(tree, path);
    else tree.set(path, entry.header.type ?? 'unknown');
  }
  return tree;
}

async function readWithYauzl({ bytes }: AcceptedArchive): Promise<Tree> {
  const zip = await fromBufferPromise(bytes, { strictFileNames: true, validateEntrySizes: true });
  const tree: Tree = new Map();
  for await (const entry of zip.eachEntry()) {
    const path = entry.fileName.replace(/^\.\//, '').replace(/\/$/, '');
    if (entry.fileName.endsWith('/')) {
      if (path !== '') addFolder(tree, path);
      continue;
    }
    const content = await gather(await zip.openReadStreamPromise(entry));
    if (crc32(content) !== entry.crc32) throw new Error('wrong CRC-32');
    addFile(tree, path, sha256Of(content));
  }
  return tree;
}

async function gather(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
