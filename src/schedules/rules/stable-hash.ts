/**
 * 64-bit FNV-1a over the text's UTF-16 code units: the same on every machine and in every version, as offsets and digests
 * of schedules require. Not for secrets.
 */
export function stableHash(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index += 1) {
    hash ^= BigInt(text.charCodeAt(index));
    hash = BigInt.asUintN(64, hash * 0x100000001b3n);
  }
  return hash;
}
