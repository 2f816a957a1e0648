import type { BundlePlaceConfig } from '../../config/config.ts';
import { proxyFor } from '../../rules/proxy.ts';
import type { ManifestSigner } from '../signing/manifest-signer.ts';
import type { BundleStore } from './bundle-store.ts';

/** Opens the store, creating it if necessary. Throws `StoreNotWritable`, `StoreRefused`, `StoreUnreachable`. */
export async function openBundleStore(config: BundlePlaceConfig): Promise<BundleStore> {
  const signer = await signerOf(config);
  if (config.kind === 'directory') {
    const { DirectoryBundleStore } = await import('./directory-store.ts');
    return DirectoryBundleStore.open({ root: config.directory, publicUrl: config.publicUrl, signer });
  }
  const { S3BundleStore } = await import('./s3-store.ts');
  return S3BundleStore.open({ ...config, signer, agents: await proxyAgents(config.endpoint) });
}

async function signerOf({ signing }: BundlePlaceConfig): Promise<ManifestSigner | undefined> {
  if (!signing) return undefined;
  const { ManifestSigner } = await import('../signing/manifest-signer.ts');
  const { password, ...settings } = signing;
  return new ManifestSigner({ ...settings, password: password && (() => password.read()) });
}

/** Agents for the proxy of the environment, which the S3 client ignores; undefined for none. */
export async function proxyAgents(endpoint = 'https://s3.amazonaws.com') {
  const proxy = proxyFor(new URL(endpoint), process.env);
  if (proxy === null) return undefined;
  const { ServiceAgent } = await import('../../service/service-connection.ts');
  const agent = (tls: object | null) => new ServiceAgent({ tls, proxy: () => proxy, keepAlive: true });
  return { httpAgent: agent(null), httpsAgent: agent({}) };
}
