import { locationText } from '../exports/store/s3-location.ts';
import type { BundleStoreConfig } from '../config/config.ts';

/** Where the configured bundle store is, for people. */
export function bundlePlace(bundles: BundleStoreConfig): string {
  return bundles.kind === 'directory' ? bundles.directory : locationText(bundles);
}
