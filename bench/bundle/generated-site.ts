import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { ZipFile } from 'yazl';

const pages = 14_000;
const scripts = 2_000;
const imageCount = 4_000;
const imageBytes = 34_000;
const wordsAPage = 2_600;
const wordsAScript = 700;
const vocabulary = 4_000;

export interface GeneratedFile {
  path: string;
  content: Buffer;
}

/** A site of 20,000 files, 450 MB unpacked: pages that link to each other, styles and scripts, pictures. Always the same. */
export function* generatedSite(): Generator<GeneratedFile> {
  const random = randomNumbers(20_261_121);
  const words = Array.from({ length: vocabulary }, () => wordOf(random));
  const text = (count: number) => Array.from({ length: count }, () => words[Math.floor(random() ** 9 * vocabulary)]);
  yield { path: 'index.html', content: Buffer.from(pageText(0, text(wordsAPage))) };
  for (let n = 1; n < pages; n += 1) yield { path: pagePath(n), content: Buffer.from(pageText(n, text(wordsAPage))) };
  for (let n = 0; n < scripts; n += 1) {
    const lines = text(wordsAScript).map((word) => (n % 2 ? `.${word} { color: #123 }` : `var ${word} = ${n};`));
    yield { path: `assets/${n}.${n % 2 ? 'css' : 'js'}`, content: Buffer.from(lines.join('\n')) };
  }
  for (let n = 0; n < imageCount; n += 1) {
    const content = Buffer.allocUnsafe(imageBytes);
    for (let at = 0; at + 4 <= content.length; at += 4) content.writeUInt32LE(Math.floor(random() * 2 ** 32), at);
    yield { path: `images/${Math.floor(n / 100)}/${n}.png`, content };
  }
}

/** Writes files as a zip. */
export async function writeZip(files: Iterable<GeneratedFile>, target: string): Promise<void> {
  const zip = new ZipFile();
  for (const { path, content } of files) {
    zip.addReadStreamLazy(path, { size: content.length }, (give) => give(null, Readable.from([content])));
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(target));
}

/** Writes files as a gzip-compressed tar. */
export async function writeTarGz(files: Iterable<GeneratedFile>, target: string): Promise<void> {
  const tar = pack();
  const written = pipeline(tar, createGzip(), createWriteStream(target));
  for (const { path, content } of files) {
    await new Promise<void>((resolve, reject) => {
      tar.entry({ name: path }, content, (error) => (error ? reject(error) : resolve()));
    });
  }
  tar.finalize();
  await written;
}

function pagePath(n: number): string {
  return `guide/part-${Math.floor(n / 200)}/page-${n}.html`;
}

function pageText(n: number, words: (string | undefined)[]): string {
  const paragraphs: string[] = [];
  for (let at = 0; at < words.length; at += 65) {
    const link = `/${pagePath(1 + ((n * 31 + at) % (pages - 1)))}`;
    paragraphs.push(`<p>${words.slice(at, at + 65).join(' ')} <a href="${link}">${words[at]}</a></p>`);
  }
  const images = [0, 1]
    .map((k) => (n * 2 + k) % imageCount)
    .map((i) => `<img src="/images/${Math.floor(i / 100)}/${i}.png">`);
  return [
    '<!doctype html><html><head><meta charset="utf-8">',
    `<title>Page ${n}</title><link rel="stylesheet" href="/assets/${(n % (scripts / 2)) * 2 + 1}.css">`,
    `<script src="/assets/${(n % (scripts / 2)) * 2}.js"></script></head><body>`,
    ...images,
    ...paragraphs,
    '</body></html>',
  ].join('\n');
}

function wordOf(random: () => number): string {
  const length = 3 + Math.floor(random() * 8);
  return Array.from({ length }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('');
}

/** A sequence of numbers from 0 up to 1, fixed by its seed (a linear congruence modulo 2^32, high bits mixed). */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    let mixed = state ^ (state >>> 15);
    mixed = Math.imul(mixed, 0x2c1b3c6d);
    mixed ^= mixed >>> 12;
    return (mixed >>> 0) / 2 ** 32;
  };
}
