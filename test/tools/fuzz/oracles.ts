import { createHash } from 'node:crypto';
import { crc32, gunzipSync } from 'node:zlib';
import { extract } from 'tar-stream';
import { fromBufferPromise } from 'yauzl';
import type { ContentFile } from '../../../src/bundle/archive/content-digest.ts';

/** Far above what any input of a run unpacks to. */
const mostBytes = 64 * 1024 ** 2;

/** The files a well-kept library finds in an archive. Throws whatever the library throws. */
export type Oracle = (archive: Buffer) => Promise<ContentFile[]>;

export const readWithTarStream: Oracle = async (archive) => {
  const tar = extract();
  tar.end(archive);
  const files: ContentFile[] = [];
  for await (const entry of tar) {
    const content = await gather(entry as AsyncIterable<Uint8Array>);
    if (entry.header.type !== 'directory') files.push(fileOf(entry.header.name, content));
  }
  return files;
};

export const readGzipWithTarStream: Oracle = async (archive) =>
  readWithTarStream(gunzipSync(archive, { maxOutputLength: mostBytes }));

export const readWithYauzl: Oracle = async (archive) => {
  const zip = await fromBufferPromise(archive, { strictFileNames: true, validateEntrySizes: true });
  const files: ContentFile[] = [];
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName.endsWith('/')) continue;
    const content = await gather(await zip.openReadStreamPromise(entry));
    if (crc32(content) !== entry.crc32) throw new Error('wrong CRC-32');
    files.push(fileOf(entry.fileName, content));
  }
  return files;
};

async function gather(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function fileOf(name: string, content: Buffer): ContentFile {
  const path = name.startsWith('./') ? name.slice(2) : name;
  return { path, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
}
