import envPaths from 'env-paths';

/** The folder in the user's cache for what docferry downloads or builds. */
export function userCacheFolder(): string {
  return envPaths('docferry', { suffix: '' }).cache;
}
