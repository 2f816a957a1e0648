import { createPrivateKey, createPublicKey, type KeyObject, scrypt } from 'node:crypto';

/** The key file cannot be used; the message contains nothing of it. */
export class SecretKeyError extends Error {
  override readonly name = 'SecretKeyError';
}

export interface SecretKey {
  /** The 8 bytes of its id. */
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
