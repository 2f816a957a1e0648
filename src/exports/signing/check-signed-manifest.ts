import { isDeepStrictEqual } from 'node:util';
import type { Reason } from '../rules/site-export.ts';
import type { SignatureRule } from '../rules/verification-rules.ts';
import { printablePath } from '../rules/verification-rules.ts';
import type { Manifest } from '../store/bundle-store.ts';
import { contradictions, manifestIn } from '../store/manifests.ts';
import type { VerificationReport } from '../verify/verify-archive.ts';
import type { PublicKey } from './minisign.ts';
import { checkSignature } from './minisign.ts';

interface SignedFacts {
  keyId: string;
  trustedComment: string;
  version: string;
  domain: string;
}

export type SignatureVerdict = { reasons: Reason[]; signed: null } | { reasons: []; signed: SignedFacts };

/** The manifest and the signature beside an archive; null where missing. */
export interface SignedManifest {
  manifest: Buffer | null;
  signature: string | null;
}

/** What the manifest must be of, where that is known. */
interface Pinned {
  domain?: string | undefined;
  version?: string | undefined;
}

/** Whether the key has signed this archive's manifest. Signature first: an unsigned manifest is not even parsed. */
export function checkSignedManifest(
  { manifest, signature }: SignedManifest,
  key: PublicKey,
  report: VerificationReport,
  pinned: Pinned = {},
): SignatureVerdict {
  if (manifest === null) return refused('manifest-missing', 'there is no manifest beside the archive');
  const checked = checkSignature(manifest, signature, [key]);
  if ('broken' in checked) return refused(checked.broken.rule, checked.broken.detail);
  const { keyId, trustedComment } = checked.valid;
  const signed = manifestIn(manifest.toString());
  if (signed === null) return refused('manifest-malformed', 'the signed file is no manifest of docferry');
  const unexpected = unexpectedIn(signed, pinned).map((detail) => reason('manifest-unexpected', detail));
  const differences = differencesFrom(signed, report).map((detail) => reason('manifest-differs', detail));
  const reasons = [...unexpected, ...differences];
  if (reasons.length > 0) return { reasons, signed: null };
  const { version, source } = signed;
  return { reasons: [], signed: { keyId, trustedComment, version, domain: source.domain } };
}

function unexpectedIn({ version, source }: Manifest, pinned: Pinned): string[] {
  const wrong: string[] = [];
  if (pinned.domain !== undefined && source.domain !== pinned.domain) {
    wrong.push(`the manifest is of ${source.domain}, not of ${pinned.domain}`);
  }
  if (pinned.version !== undefined && version !== pinned.version) {
    wrong.push(`the manifest is of version ${version}, not of ${pinned.version}`);
  }
  return wrong;
}

function differencesFrom(manifest: Manifest, report: VerificationReport): string[] {
  if (report.archive === null) return ['the archive could not be read'];
  const wrong: string[] = [];
  for (const field of ['sha256', 'bytes', 'format'] as const) {
    const [found, signed] = [report.archive[field], manifest.archive[field]];
    if (found !== signed) wrong.push(`${field} of the archive is ${found}, signed is ${signed}`);
  }
  wrong.push(...contradictions(manifest.source.domain, manifest.version, manifest));
  // A refused archive has no content digest, and its own reasons.
  if (report.contentDigest === null) return wrong;
  if (report.contentDigest !== manifest.contentDigest) {
    wrong.push(`the content digest is ${report.contentDigest}, signed is ${manifest.contentDigest}`);
  } else if (!isDeepStrictEqual(report.entries, manifest.files)) {
    wrong.push('its files are not those that the manifest lists');
  }
  return wrong;
}

function refused(rule: SignatureRule, detail: string): SignatureVerdict {
  return { reasons: [reason(rule, detail)], signed: null };
}

function reason(rule: SignatureRule, detail: string): Reason {
  return { rule, path: null, detail: printablePath(detail) };
}
