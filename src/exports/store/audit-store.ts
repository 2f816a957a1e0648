import { setTimeout as sleep } from 'node:timers/promises';
import { auditVersion, type VersionAudit } from './audit-version.ts';
import { type BundleStore, type Current, NoSuchVersion, type StoredVersion } from './bundle-store.ts';
import { RecordDamaged, VersionDamaged } from './store-errors.ts';
import { manifestName } from './store-layout.ts';

const mostChecks = 10;
const checkAgainMs = 500;

export interface DomainAudit {
  domain: string;
  current: string | null;
  /** What is wrong with `current.json`. */
  reasons: string[];
  /** Newest first. */
  versions: VersionAudit[];
}

export interface AuditProgress {
  domain: string;
  version: string;
  /** Bytes read so far, of `totalBytes`. */
  bytes: number;
  totalBytes: number;
  /** Null while the version is being read. */
  audit: VersionAudit | null;
}

/**
 * Re-hashes every version of the domains, complete or not, and checks their pointers (contracts.md "store verify").
 * Versions that retention removes meanwhile are left out. Throws what the store throws, and the signal's reason.
 */
export async function auditStore(
  store: BundleStore,
  domains: readonly string[],
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: AuditProgress) => void } = {},
): Promise<DomainAudit[]> {
  const stored = new Map<string, StoredVersion[]>();
  for (const domain of domains) stored.set(domain, await store.inventory(domain));
  const sizes = [...stored.values()].flat().flatMap(({ files }) => files.map((file) => file.bytes));
  const totalBytes = sizes.reduce((sum, size) => sum + size, 0);
  let bytes = 0;
  const audits: DomainAudit[] = [];
  for (const [domain, versions] of stored) {
    const found: VersionAudit[] = [];
    for (const version of versions) {
      const show = (audit: VersionAudit | null) =>
        onProgress?.({ domain, version: version.version, bytes, totalBytes, audit });
      const onBytes = (more: number) => {
        bytes += more;
        show(null);
      };
      const audit = await auditUnlessRemoved(store, domain, version, { ...(signal && { signal }), onBytes });
      if (audit === null) continue;
      found.push(audit);
      show(audit);
    }
    audits.push({ domain, ...(await auditPointer(store, domain)), versions: found });
  }
  return audits;
}

/** Null when the whole version has been removed. */
async function auditUnlessRemoved(
  store: BundleStore,
  domain: string,
  stored: StoredVersion,
  options: Parameters<typeof auditVersion>[3],
): Promise<VersionAudit | null> {
  try {
    return await auditVersion(store, domain, stored, options);
  } catch (error) {
    if (!(error instanceof VersionDamaged)) throw error;
    if (await isBeingRemoved(store, domain, stored.version)) return null;
    return { version: stored.version, state: 'tampered', reasons: [error.message], bytes: 0 };
  }
}

/** Whether a version has been removed, or will be within seconds: a bucket loses its files one by one. */
async function isBeingRemoved(store: BundleStore, domain: string, name: string): Promise<boolean> {
  for (let checks = 1; ; checks += 1) {
    const found = (await store.inventory(domain)).find(({ version }) => version === name);
    if (found === undefined) return true;
    if (checks === mostChecks || found.files.some((file) => file.name === manifestName)) return false;
    await sleep(checkAgainMs);
  }
}

async function auditPointer(store: BundleStore, domain: string): Promise<Pick<DomainAudit, 'current' | 'reasons'>> {
  const current = await readPointer(store, domain);
  if (current === 'damaged') return { current: null, reasons: ['current.json is damaged'] };
  if (current === null) return { current: null, reasons: [] };
  const { version, contentDigest } = current;
  try {
    const manifest = await store.manifest(domain, version);
    const same = manifest.contentDigest === contentDigest;
    return { current: version, reasons: same ? [] : ['current.json names another content digest than its version'] };
  } catch (error) {
    if (error instanceof NoSuchVersion) {
      return { current: version, reasons: ['current.json names a version that is missing or incomplete'] };
    }
    // The audit of the version reports its damaged manifest.
    if (error instanceof RecordDamaged) return { current: version, reasons: [] };
    throw error;
  }
}

async function readPointer(store: BundleStore, domain: string): Promise<Current | null | 'damaged'> {
  try {
    return await store.current(domain);
  } catch (error) {
    if (error instanceof RecordDamaged) return 'damaged';
    throw error;
  }
}
