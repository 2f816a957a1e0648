import envPaths from 'env-paths';

/** The folder for what docferry downloads or builds for itself, inside the user's cache folder. */
export function userCacheFolder(): string {
  return envPaths('docferry', { suffix: '' }).cache;
}
