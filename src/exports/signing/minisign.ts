import { createHash, createPrivateKey, createPublicKey, type KeyObject, scrypt, sign, verify } from 'node:crypto';
import type { SignatureRule } from '../rules/verification-rules.ts';

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

interface Signature {
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
  return {
    id: keyIdOf(bytes.subarray(2)),
    key: createPublicKey({ key: Buffer.concat([publicKeyInfo, raw]), format: 'der', type: 'spki' }),
  };
}

/** The key that verifies what a secret key signs. @param idBytes the 8 bytes of the key's id */
export function publicKeyFor({ idBytes, key }: { idBytes: Uint8Array; key: KeyObject }): PublicKey {
  return { id: keyIdOf(idBytes), key: createPublicKey(key) };
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

/** The key file cannot be used; the message contains nothing of it. */
export class SecretKeyError extends Error {
  override readonly name = 'SecretKeyError';
}

export interface SecretKey {
  idBytes: Buffer;
  key: KeyObject;
}

/** Before the 32 bytes of an Ed25519 seed (RFC 8410). */
const privateKeyInfo = Buffer.from('302e020100300506032b657004220420', 'hex');
const fileBytes = 158;
const hiddenAt = 54;
const saltAt = 6;
const operationsAt = 38;
const memoryAt = 46;
/** minisign's own choice for every key with a password. */
const mostMemory = 1024 ** 3;
const block = 8;

/**
 * The secret key of `minisign -G`, with a password or without (`-W`). The public half is derived again to check that both
 * halves match. With a password it takes 1 GiB of memory for some seconds, as minisign does. Throws `SecretKeyError`.
 */
export async function readSecretKey(text: string, password: () => string | null): Promise<SecretKey> {
  const [comment = '', base64 = ''] = text.split(/\r?\n/);
  const bytes = Buffer.from(base64, 'base64');
  if (!comment.startsWith('untrusted comment: ') || bytes.length !== fileBytes) {
    throw new SecretKeyError('is not a secret key of minisign');
  }
  const kinds = [bytes.toString('latin1', 0, 2), bytes.toString('latin1', 4, 6)];
  if (kinds[0] !== 'Ed' || kinds[1] !== 'B2') throw new SecretKeyError('is a key of an unknown kind');
  const derivation = bytes.toString('latin1', 2, 4);
  if (derivation === '\0\0') return keyIn(bytes.subarray(hiddenAt), 'is damaged: its halves do not match');
  if (derivation !== 'Sc') throw new SecretKeyError('has a password of an unknown kind');
  const given = password();
  if (given === null) throw new SecretKeyError('needs a password, and none is given');
  const hidden = bytes.subarray(hiddenAt);
  const stream = await keyStream(given, bytes, hidden.length);
  const wrong = 'cannot be opened: the password is wrong or the file is damaged';
  return keyIn(
    hidden.map((byte, index) => byte ^ (stream[index] ?? 0)),
    wrong,
  );
}

/** @param hidden id (8 bytes), seed (32), public half (32), checksum (32, not needed: the halves prove more) */
function keyIn(hidden: Uint8Array, otherwise: string): SecretKey {
  const [id, seed, publicHalf] = [hidden.subarray(0, 8), hidden.subarray(8, 40), hidden.subarray(40, 72)];
  const key = createPrivateKey({ key: Buffer.concat([privateKeyInfo, seed]), format: 'der', type: 'pkcs8' });
  const derived = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
  if (!derived.equals(publicHalf)) throw new SecretKeyError(otherwise);
  return { idBytes: Buffer.from(id), key };
}

function keyStream(password: string, bytes: Buffer, length: number): Promise<Buffer> {
  const operations = Number(bytes.readBigUInt64LE(operationsAt));
  const memory = Number(bytes.readBigUInt64LE(memoryAt));
  if (memory > mostMemory) throw new SecretKeyError('needs more than 1 GiB of memory to open');
  const salt = bytes.subarray(saltAt, operationsAt);
  const options = { ...scryptCost(operations, memory), r: block, maxmem: mostMemory + 64 * 1024 ** 2 };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, length, options, (error, derived) => {
      if (error) reject(new SecretKeyError('cannot be opened: there is not enough memory (1 GiB)'));
      else resolve(derived);
    });
  });
}

/** What libsodium makes of its two limits (`crypto_pwhash_scryptsalsa208sha256`): rounds N and parallel runs p. */
export function scryptCost(operations: number, memory: number): { N: number; p: number } {
  const least = Math.max(32_768, operations);
  const byOperations = least < memory / 32;
  const most = byOperations ? least / (block * 4) : memory / (block * 128);
  let log = 1;
  while (log < 63 && 2 ** log <= most / 2) log += 1;
  if (byOperations) return { N: 2 ** log, p: 1 };
  const parallel = Math.min(0x3fffffff, Math.floor(least / 4 / 2 ** log));
  return { N: 2 ** log, p: Math.floor(parallel / block) };
}

interface BrokenSignature {
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
  try {
    const valid = parseSignature(text);
    return brokenBy(valid, manifest, keys) ?? { valid };
  } catch (error) {
    if (!(error instanceof MinisignFormatError)) throw error;
    return broken('signature-malformed', error.message);
  }
}

function brokenBy(found: Signature, manifest: Uint8Array, keys: TrustedKeys): { broken: BrokenSignature } | null {
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
