const versionPattern = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-[0-9a-f]{12}$/;

/**
 * Name of a published version (contracts.md): UTC time to the second and the first 12 hex digits of the content digest,
 * e.g. `20261121T040200Z-3f9a2c1b8e7d`. Names sort by time.
 */
export function versionName(nowMs: number, contentDigest: string): string {
  if (!/^[0-9a-f]{64}$/.test(contentDigest)) throw new RangeError('the content digest is not 64 lowercase hex digits');
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return `${time.replace(/[-:]/g, '')}-${contentDigest.slice(0, 12)}`;
}

/** The moment in a version's name as ISO 8601; null for any other name. */
export function versionTime(version: string): string | null {
  const parts = versionPattern.exec(version);
  if (!parts) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const time = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}
