import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { versionName } from '../../../src/exports/rules/site-export.ts';
import { signatureText } from '../../../src/exports/signing/minisign.ts';
import { toJson } from '../../../src/exports/store/manifests.ts';
import { verifyArchive } from '../../../src/exports/verify/verify-archive.ts';

/** When the version was published, as its name tells. */
const publishedAt = Date.UTC(2026, 10, 21, 4, 2, 0);
const limits = { maxBytes: 1_000_000, maxFiles: 1_000, maxRatio: 1_000 };

/** Writes the manifest of an archive and its signature beside it, and the public half of a new key to `publicKey`. */
export async function signBeside(archiveFile: string, publicKey: string): Promise<void> {
  const { privateKey, publicKey: half } = generateKeyPairSync('ed25519');
  const idBytes = randomBytes(8);
  const raw = half.export({ format: 'der', type: 'spki' }).subarray(-32);
  const line = Buffer.concat([Buffer.from('Ed'), idBytes, raw]).toString('base64');
  await writeFile(publicKey, `untrusted comment: of a test\n${line}\n`);
  const { archive, contentDigest, pages, entries: files } = await verifyArchive(archiveFile, { limits });
  const source = { org: 'acme', domain: 'docs.acme.example', jobId: 'job_1' };
  const manifest = toJson({
    version: versionName(publishedAt, contentDigest ?? ''),
    contentDigest,
    archive,
    pages,
    files,
    source,
  });
  const file = join(dirname(archiveFile), 'manifest.json');
  await writeFile(file, manifest);
  await writeFile(`${file}.minisig`, signatureText(Buffer.from(manifest), 'of a test', { idBytes, key: privateKey }));
}
