import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** The text is not what minisign writes; the message says how. */
export class MinisignFormatError extends Error {
  override readonly name = 'MinisignFormatError';
}

export interface PublicKey {
  /** As minisign prints it: 16 hex digits. */
  id: string;
  key: KeyObject;
}

/** Keys whose signatures are accepted. */
export type TrustedKeys = readonly [PublicKey, ...PublicKey[]];

export interface Signature {
  keyId: string;
  /** False for the legacy kind, over the content itself. */
  prehashed: boolean;
  signature: Buffer;
  trustedComment: string;
  /** Over the signature and the trusted comment. */
  globalSignature: Buffer;
}

const keyIdBytes = 8;
const keyBytes = 32;
const signatureBytes = 64;
const longestText = 16 * 1024;
const untrustedPrefix = 'untrusted comment: ';
const trustedPrefix = 'trusted comment: ';
/** Before the 32 bytes of a raw Ed25519 key (RFC 8410). */
const publicKeyInfo = Buffer.from('302a300506032b6570032100', 'hex');

/** A public key: the base64 line alone, or the `.pub` file of `minisign -G`. Throws `MinisignFormatError`. */
export function parsePublicKey(text: string): PublicKey {
  const lines = linesOf(text);
  const [first = '', second] = lines;
  const base64 = first.startsWith(untrustedPrefix) ? second : first;
  if (base64 === undefined || lines.length > (first.startsWith(untrustedPrefix) ? 2 : 1)) {
    throw new MinisignFormatError('expected the one or two lines of a public key');
  }
  const bytes = decode(base64, 2 + keyIdBytes + keyBytes, 'a public key');
  if (bytes.toString('latin1', 0, 2) !== 'Ed') throw new MinisignFormatError('the key is not an Ed25519 key');
  const raw = bytes.subarray(2 + keyIdBytes);
  return { id: keyIdOf(bytes.subarray(2)), key: publicKeyOf(raw) };
}

/** The key that verifies what a secret key signs. @param idBytes the 8 bytes of the key's id */
export function publicKeyFor({ idBytes, key }: { idBytes: Uint8Array; key: KeyObject }): PublicKey {
  return { id: keyIdOf(idBytes), key: createPublicKey(key) };
}

/** The key object of the 32 bytes of an Ed25519 public key. */
export function publicKeyOf(raw: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([publicKeyInfo, raw]), format: 'der', type: 'spki' });
}

/** As minisign prints the 8 bytes of a key id. */
function keyIdOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, keyIdBytes)).reverse().toString('hex').toUpperCase();
}

/** The four lines of a `.minisig` file. Throws `MinisignFormatError`. */
export function parseSignature(text: string): Signature {
  const [untrusted, base64, trusted, global, ...more] = linesOf(text);
  if (untrusted === undefined || base64 === undefined || trusted === undefined || global === undefined) {
    throw new MinisignFormatError('expected the four lines of a signature');
  }
  if (more.length > 0) throw new MinisignFormatError('expected no more than the four lines of a signature');
  if (!untrusted.startsWith(untrustedPrefix)) throw new MinisignFormatError('expected an untrusted comment in line 1');
  if (!trusted.startsWith(trustedPrefix)) throw new MinisignFormatError('expected a trusted comment in line 3');
  const bytes = decode(base64, 2 + keyIdBytes + signatureBytes, 'a signature');
  const kind = bytes.toString('latin1', 0, 2);
  if (kind !== 'ED' && kind !== 'Ed') throw new MinisignFormatError('the signature is of an unknown kind');
  return {
    keyId: keyIdOf(bytes.subarray(2)),
    prehashed: kind === 'ED',
    signature: bytes.subarray(2 + keyIdBytes),
    trustedComment: trusted.slice(trustedPrefix.length),
    globalSignature: decode(global, signatureBytes, 'the signature of the trusted comment'),
  };
}

/** Signs content as `minisign -S` does: Ed25519 over its BLAKE2b-512. @param idBytes the 8 bytes of the key's id */
export function signatureText(
  content: Uint8Array,
  trustedComment: string,
  { idBytes, key }: { idBytes: Uint8Array; key: KeyObject },
): string {
  const signature = sign(null, prehash(content), key);
  const global = sign(null, Buffer.concat([signature, Buffer.from(trustedComment)]), key);
  const lines = [
    `${untrustedPrefix}signature of key ${keyIdOf(idBytes)}`,
    Buffer.concat([Buffer.from('ED'), idBytes, signature]).toString('base64'),
    `${trustedPrefix}${trustedComment}`,
    global.toString('base64'),
  ];
  return `${lines.join('\n')}\n`;
}

/** Whether a prehashed signature is that of the content. */
export function signsContent({ prehashed, signature }: Signature, content: Uint8Array, key: KeyObject): boolean {
  return prehashed && verify(null, prehash(content), key, signature);
}

/** Whether the trusted comment belongs to the signature. */
export function signsComment({ signature, trustedComment, globalSignature }: Signature, key: KeyObject): boolean {
  return verify(null, Buffer.concat([signature, Buffer.from(trustedComment)]), key, globalSignature);
}

function prehash(content: Uint8Array): Buffer {
  return createHash('blake2b512').update(content).digest();
}

function linesOf(text: string): string[] {
  if (text.length > longestText) throw new MinisignFormatError('it is too long');
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

/** Strict: refuses other spellings of the same bytes. */
function decode(base64: string, bytes: number, what: string): Buffer {
  const decoded = Buffer.from(base64, 'base64');
  if (decoded.length === bytes && decoded.toString('base64') === base64) return decoded;
  throw new MinisignFormatError(`expected the base64 of ${what}`);
}
