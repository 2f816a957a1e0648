import { readFile } from 'node:fs/promises';
import { errorCode } from '../../files.ts';
import { versionTime } from '../rules/site-export.ts';
import type { Manifest } from '../store/bundle-store.ts';
import { SigningKeyUnusable } from '../store/bundle-store.ts';
import {
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
  /** Public keys that signed earlier versions, each as the line in its `.pub` file. */
  formerKeys: readonly string[];
}

/** Signs manifests as minisign does. The key is read when first needed: who only reads a store needs none. */
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
    return [publicKeyFor(await this.#secretKey()), ...this.#settings.formerKeys.map(parsePublicKey)];
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
    const { keyFile, password } = this.#settings;
    try {
      return await readSecretKey(await readFile(keyFile, 'utf8'), () => password?.() ?? null);
    } catch (error) {
      if (error instanceof SecretKeyError) throw new SigningKeyUnusable(keyFile, error.message);
      const code = errorCode(error);
      if (code === undefined) throw error;
      throw new SigningKeyUnusable(keyFile, `cannot be read (${code})`);
    }
  }
}

/** In minisign's own format, so that `minisign -V` shows the signed comment. */
function commentOf({ version, contentDigest, source }: Manifest): string {
  const time = versionTime(version);
  const stamp = time === null ? [] : [`timestamp:${Date.parse(time) / 1000}`];
  const facts = [`domain:${source.domain}`, `version:${version}`, `digest:${contentDigest}`];
  return [...stamp, 'file:manifest.json', 'hashed', ...facts].join('\t');
}
