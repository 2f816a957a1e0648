import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import type { VerificationReport } from '../../../src/exports/verify/verify-archive.ts';
import { realWriters } from '../../tools/archives/real-writers.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { compare, verify } from '../../tools/fuzz/compare.ts';
import { startOracles } from '../../tools/fuzz/oracles/installed-oracles.ts';

const ascii = ['index.html', '404.html', 'guide/start.html', 'assets/site.css', `${'deep/'.repeat(30)}page.html`];
const emptyFile = 'empty.txt';
const beyondAscii = ['guide/\u00fcber.html', '\u65e5\u672c\u8a9e/\u6848\u5185.html', `${'\u8a9e'.repeat(25)}.html`];

async function folderOf(paths: readonly string[]): Promise<string> {
  const folder = await tempFolder();
  for (const path of paths) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), `<p>${path}</p>`.repeat(path.length));
  }
  await writeFile(join(folder, emptyFile), '');
  return folder;
}

const { installed, missing } = await startOracles();

afterAll(() => {
  for (const oracle of installed) oracle.close();
});

describe.each(realWriters)(`an archive of $name (readers not installed: ${missing.join(', ') || 'none'})`, (writer) => {
  async function verified(paths: readonly string[]) {
    const archive = await writer.pack(await folderOf(paths));
    if (archive === null) return null;
    const made = writer.format === 'tar' ? [archive, gzipSync(archive)] : [archive];
    return Promise.all(made.map(async (bytes) => ({ bytes, report: await verify(bytes) })));
  }

  async function expectAccepted(paths: readonly string[], archives: { bytes: Buffer; report: VerificationReport }[]) {
    const scratch = await tempFolder();
    for (const { bytes, report } of archives) {
      expect(report.reasons).toEqual([]);
      expect(report.entries.map(({ path }) => path).sort()).toEqual([...paths, emptyFile].sort());
      expect((await compare(bytes, report, installed, join(scratch, 'made'))).disagreements).toEqual([]);
    }
  }

  it('is accepted, and unpacks alike with every reader', async ({ skip }) => {
    const archives = await verified(ascii);
    if (archives === null) return skip(`${writer.name} is not installed`);
    await expectAccepted(ascii, archives);
  });

  it(`is ${writer.marksNames ? 'accepted' : 'refused'} with names beyond ASCII`, async ({ skip }) => {
    const paths = [...ascii, ...beyondAscii];
    const archives = await verified(paths);
    if (archives === null) return skip(`${writer.name} is not installed`);
    if (writer.marksNames) return expectAccepted(paths, archives);
    for (const { report } of archives) expect(report.reasons[0]?.rule).toBe('ambiguous-name');
  });
});
