import { checkSignature } from '../signing/check-signature.ts';
import type { TrustedKeys } from '../signing/minisign-format.ts';
import type { BundleStore, Manifest } from './bundle-store.ts';
import { contradictions } from './manifest-contradictions.ts';
import { RecordDamaged, VersionDamaged } from './store-errors.ts';
import { manifestIn } from './store-json.ts';
import { manifestName, signatureName } from './store-layout.ts';

type Manifests = Pick<BundleStore, 'manifest' | 'open' | 'verificationKeys'>;

/**
 * The manifest of a version that is about to be used, once it is proved to be its own: site, version, content digest and,
 * where the store signs, the signature. Another writer of the store could have put another in its place. Throws
 * `NoSuchVersion`, `VersionDamaged`, `SigningKeyUnusable`.
 */
export async function provenManifest(store: Manifests, domain: string, version: string): Promise<Manifest> {
  const found = await readManifest(store, domain, version);
  const keys = await store.verificationKeys();
  const manifest = keys === null ? found : await signedManifest(store, { domain, version, keys });
  const wrong = contradictions(domain, version, manifest);
  if (wrong.length > 0) throw new VersionDamaged(wrong.join('; '));
  return manifest;
}

async function readManifest(store: Manifests, domain: string, version: string): Promise<Manifest> {
  try {
    return await store.manifest(domain, version);
  } catch (error) {
    throw error instanceof RecordDamaged ? new VersionDamaged(`${manifestName} is damaged`) : error;
  }
}

/** Parsed from the very bytes whose signature was checked. */
async function signedManifest(
  store: Manifests,
  { domain, version, keys }: { domain: string; version: string; keys: TrustedKeys },
): Promise<Manifest> {
  const read = async (name: string) => {
    const stream = await store.open(domain, version, name);
    return stream === null ? null : Buffer.concat(await stream.toArray());
  };
  const bytes = (await read(manifestName)) ?? Buffer.alloc(0);
  const checked = checkSignature(bytes, (await read(signatureName))?.toString() ?? null, keys);
  if ('broken' in checked) {
    const { rule, detail } = checked.broken;
    const remedy =
      rule === 'signature-key'
        ? 'if that key was once yours, list its public key in signing.formerKeys'
        : `publish it again with \`export start --force\`, or sign its ${manifestName} with minisign`;
    throw new VersionDamaged(`${manifestName} is not signed by this store's keys: ${detail} (${remedy})`);
  }
  const manifest = manifestIn(bytes.toString());
  if (manifest === null) throw new VersionDamaged(`${manifestName} is damaged`);
  return manifest;
}
