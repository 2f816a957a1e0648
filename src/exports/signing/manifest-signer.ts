import { readFile } from 'node:fs/promises';
import { errorCode } from '../../files.ts';
import { versionTime } from '../rules/site-export.ts';
import type { Manifest } from '../store/bundle-store.ts';
import { SigningKeyUnusable } from '../store/bundle-store.ts';
import {
  type PublicKey,
  parsePublicKey,
  publicKeyFor,
  readSecretKey,
  type SecretKey,
  SecretKeyError,
  signatureText,
  type TrustedKeys,
} from './minisign.ts';

interface SigningSettings {
  keyFile: string;
  /** Null for a key without one. Called when the key is read. */
  password: (() => string) | null;
  /** That of `keyFile`, as the line in its `.pub` file; null: the secret key tells it. */
  publicKey: string | null;
  /** Public keys that signed earlier versions, each as the line in its `.pub` file. */
  formerKeys: readonly string[];
}

/** Signs manifests as minisign does. The secret key is read when first needed: with a public key, not to verify. */
export class ManifestSigner {
  readonly #settings: SigningSettings;
  #key: Promise<SecretKey> | null = null;

  constructor(settings: SigningSettings) {
    this.#settings = settings;
  }

  /** Throws `SigningKeyUnusable` when nothing could be signed. */
  async check(): Promise<void> {
    await this.#secretKey();
  }

  /** The keys that verify this signer's signatures: the current one, then former ones. Throws `SigningKeyUnusable`. */
  async publicKeys(): Promise<TrustedKeys> {
    const { publicKey, formerKeys } = this.#settings;
    const current = publicKey === null ? publicKeyFor(await this.#secretKey()) : parsePublicKey(publicKey);
    return [current, ...formerKeys.map(parsePublicKey)];
  }

  /** The `.minisig` of a manifest's text: the same for the same text and key. Throws `SigningKeyUnusable`. */
  async sign(text: string, manifest: Manifest): Promise<string> {
    return signatureText(Buffer.from(text), commentOf(manifest), await this.#secretKey());
  }

  #secretKey(): Promise<SecretKey> {
    this.#key ??= this.#read().catch((error: unknown) => {
      // It may be fixed by the next attempt.
      this.#key = null;
      throw error;
    });
    return this.#key;
  }

  async #read(): Promise<SecretKey> {
    const { keyFile, password, publicKey } = this.#settings;
    try {
      const secret = await readSecretKey(await readFile(keyFile, 'utf8'), () => password?.() ?? null);
      if (publicKey === null || isSame(publicKeyFor(secret), parsePublicKey(publicKey))) return secret;
    } catch (error) {
      if (error instanceof SecretKeyError) throw new SigningKeyUnusable(keyFile, error.message);
      const code = errorCode(error);
      if (code === undefined) throw error;
      throw new SigningKeyUnusable(keyFile, `cannot be read (${code})`);
    }
    const hint = 'set publicKey to the second line of its .pub file, or keyFile to the secret key of that one';
    throw new SigningKeyUnusable(keyFile, 'is not the one of store.bundles.signing.publicKey', hint);
  }
}

const isSame = (one: PublicKey, other: PublicKey): boolean => one.id === other.id && one.key.equals(other.key);

/** In minisign's own format, so that `minisign -V` shows the signed comment. */
function commentOf({ version, contentDigest, source }: Manifest): string {
  const time = versionTime(version);
  const stamp = time === null ? [] : [`timestamp:${Date.parse(time) / 1000}`];
  const facts = [`domain:${source.domain}`, `version:${version}`, `digest:${contentDigest}`];
  return [...stamp, 'file:manifest.json', 'hashed', ...facts].join('\t');
}
