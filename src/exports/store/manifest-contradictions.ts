import { versionTime } from '../rules/version-name.ts';
import { contentDigest } from '../archive/content-digest.ts';
import type { Manifest } from './bundle-store.ts';
import { manifestName } from './store-layout.ts';

/** Where a manifest contradicts itself or its place: the site and the version under which it was found. */
export function contradictions(domain: string, version: string, manifest: Manifest): string[] {
  const wrong: string[] = [];
  if (manifest.version !== version) wrong.push(`${manifestName} belongs to another version`);
  if (manifest.source.domain !== domain) wrong.push(`${manifestName} belongs to another site`);
  if (contentDigest(manifest.files) !== manifest.contentDigest) {
    wrong.push(`the files in ${manifestName} do not have its content digest`);
  }
  if (versionTime(version) !== null && !version.endsWith(`-${manifest.contentDigest.slice(0, 12)}`)) {
    wrong.push('its content digest is not the one in its name');
  }
  return wrong;
}
