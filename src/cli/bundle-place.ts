import { placeText } from '../bundle/s3-place.ts';
import type { BundleStoreConfig } from '../config/config.ts';

/** Where the configured bundle store lies, for people. */
export function bundlePlace(bundles: BundleStoreConfig): string {
  return bundles.kind === 'directory' ? bundles.directory : placeText(bundles);
}
