import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { crc32, createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { openPromise } from 'yauzl';

/*
 * What verification costs with the libraries people take, each entry read whole and checked as far as they do it:
 * node dist/bench/bundle/library-verify.js FILE, a zip by yauzl with its CRC-32, a gzip tar by tar-stream.
 */

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: library-verify <file>');
await (file.endsWith('.zip') ? readZip(file) : readTarGz(file));

async function readZip(path: string): Promise<void> {
  const zip = await openPromise(path, { strictFileNames: true, validateEntrySizes: true });
  for await (const entry of zip.eachEntry()) {
    if (entry.fileName.endsWith('/')) continue;
    let crc = 0;
    for await (const chunk of await zip.openReadStreamPromise(entry)) crc = crc32(chunk, crc);
    if (crc !== entry.crc32) throw new Error('wrong CRC-32');
  }
}

async function readTarGz(path: string): Promise<void> {
  const tar = extract();
  tar.on('entry', (_header, content, next) => {
    content.on('end', next);
    content.resume();
  });
  await pipeline(createReadStream(path), createGunzip(), tar);
}
