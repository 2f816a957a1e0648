import type { SignatureRule } from '../rules/signature-rules.ts';
import {
  MinisignFormatError,
  parseSignature,
  type Signature,
  signsComment,
  signsContent,
  type TrustedKeys,
} from './minisign-format.ts';

/** Which rule a signature breaks. */
export interface BrokenSignature {
  rule: SignatureRule;
  detail: string;
}

/** The signature of a manifest by one of the keys, or why there is none. @param text null when there is no signature */
export function checkSignature(
  manifest: Uint8Array,
  text: string | null,
  keys: TrustedKeys,
): { valid: Signature } | { broken: BrokenSignature } {
  if (text === null) return broken('signature-missing', 'there is no signature beside the manifest');
  const found = signatureIn(text);
  return 'broken' in found ? found : (brokenBy(found.valid, manifest, keys) ?? found);
}

function signatureIn(text: string): { valid: Signature } | { broken: BrokenSignature } {
  try {
    return { valid: parseSignature(text) };
  } catch (error) {
    if (!(error instanceof MinisignFormatError)) throw error;
    return broken('signature-malformed', error.message);
  }
}

function brokenBy(found: Signature, manifest: Uint8Array, keys: TrustedKeys) {
  const ids = keys.map(({ id }) => id).join(' or ');
  const key = keys.find(({ id }) => id === found.keyId)?.key;
  if (key === undefined) return broken('signature-key', `it was signed by key ${found.keyId}, not by ${ids}`);
  if (!found.prehashed) return broken('signature-legacy', 'sign it again with minisign 0.10 or newer, without -l');
  if (!signsContent(found, manifest, key)) {
    return broken('signature-invalid', 'it is not the signature of this manifest');
  }
  return signsComment(found, key) ? null : broken('signature-invalid', 'its trusted comment was changed');
}

function broken(rule: SignatureRule, detail: string): { broken: BrokenSignature } {
  return { broken: { rule, detail } };
}
