import { setTimeout as sleep } from 'node:timers/promises';
import { auditVersion, type VersionAudit } from './audit-version.ts';
import { type BundleStore, type Current, NoSuchVersion, type StoredVersion } from './bundle-store.ts';
import { VersionDamaged } from './store-errors.ts';
import { manifestName } from './store-layout.ts';

const mostLooks = 10;
const lookAgainMs = 500;

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
  /** Read so far, of everything. */
  bytes: number;
  totalBytes: number;
  /** Null while the version is being read. */
  audit: VersionAudit | null;
}

/**
 * Re-hashes every version of the domains, whole or not, and looks at their pointers (contracts.md "store verify"). What
 * retention removes meanwhile is left out. Throws what the store throws, and the signal's reason.
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
      const audit = await auditKept(store, domain, version, { ...(signal && { signal }), onBytes });
      if (audit === null) continue;
      found.push(audit);
      show(audit);
    }
    audits.push({ domain, ...(await auditPointer(store, domain)), versions: found });
  }
  return audits;
}

/** Null when the version is gone as a whole. */
async function auditKept(
  store: BundleStore,
  domain: string,
  stored: StoredVersion,
  options: Parameters<typeof auditVersion>[3],
): Promise<VersionAudit | null> {
  try {
    return await auditVersion(store, domain, stored, options);
  } catch (error) {
    if (!(error instanceof VersionDamaged)) throw error;
    if (await isVanishing(store, domain, stored.version)) return null;
    return { version: stored.version, state: 'tampered', reasons: [error.message], bytes: 0 };
  }
}

/** Whether a version is gone, or goes within seconds: in a bucket its files are removed one after the other. */
async function isVanishing(store: BundleStore, domain: string, name: string): Promise<boolean> {
  for (let looks = 1; ; looks += 1) {
    const found = (await store.inventory(domain)).find(({ version }) => version === name);
    if (found === undefined) return true;
    if (looks === mostLooks || found.files.some((file) => file.name === manifestName)) return false;
    await sleep(lookAgainMs);
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
      return { current: version, reasons: ['current.json names a version that is not there whole'] };
    }
    // A damaged manifest is told with its version.
    if (isDamage(error)) return { current: version, reasons: [] };
    throw error;
  }
}

async function readPointer(store: BundleStore, domain: string): Promise<Current | null | 'damaged'> {
  try {
    return await store.current(domain);
  } catch (error) {
    if (isDamage(error)) return 'damaged';
    throw error;
  }
}

/** The text is no JSON, or not the JSON it should be. */
function isDamage(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof Error && error.name === 'ZodError');
}
