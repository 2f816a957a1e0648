import { withoutEnd } from '../../rules/short-texts.ts';
import type { Manifest } from './bundle-store.ts';
import { storeName } from './store-names.ts';

/** Paths in a bundle store, relative to its root (contracts.md "bundle store"). Each throws `RangeError`. */
export const stagingRoot = '.staging';
export const identityPath = '.store.json';
export const stagingPath = (stageId: string): string => `${stagingRoot}/${storeName('stage id', stageId)}`;
/**
 * Small objects of a bucket whose names say what is in service for every domain, so that one listing shows it
 * (decisions/0100).
 */
export const marksRoot = '.in-service';
export const versionsPath = (domain: string): string => `${storeName('domain', domain)}/versions`;
export const versionPath = (domain: string, version: string): string =>
  `${versionsPath(domain)}/${storeName('version', version)}`;
export const manifestPath = (domain: string, version: string): string =>
  `${versionPath(domain, version)}/${manifestName}`;
export const currentPath = (domain: string): string => `${storeName('domain', domain)}/current.json`;
/** The version that each target last rolled out successfully. */
export const rolloutsPath = (domain: string): string => `${storeName('domain', domain)}/rollouts.json`;
/** Whether, and at which version, a person holds the site. */
export const holdPath = (domain: string): string => `${storeName('domain', domain)}/hold.json`;
/** From when on a step must be scheduled to move the pointer (E11); absent: any. */
export const claimPath = (domain: string): string => `${storeName('domain', domain)}/claim.json`;
/** What must not be removed now (`retention.ts`). */
export const inUsePath = (domain: string): string => `${storeName('domain', domain)}/in-use.json`;

export const manifestName = 'manifest.json';
/** The manifest's signature, where the store signs (`signing/`). */
export const signatureName = `${manifestName}.minisig`;

/** Name of the archive in a version's folder. */
export function bundleName(manifest: Pick<Manifest, 'archive'>): string {
  return `bundle.${manifest.archive.format}`;
}

/** The immutable address of a version's archive. */
export function publishedAddress(publicUrl: string, domain: string, manifest: Manifest): string {
  return `${withoutEnd(publicUrl, '/')}/${versionPath(domain, manifest.version)}/${bundleName(manifest)}`;
}
