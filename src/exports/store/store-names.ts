/** For host names, version names and stage ids: no separators, no leading dot (contracts.md). */
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9._:-]{0,252}$/;

export function isStoreName(name: string): boolean {
  return namePattern.test(name);
}

/** Returns the name if it can name a folder in the store; throws `RangeError` otherwise. */
export function storeName(what: 'domain' | 'version' | 'stage id' | 'file', name: string): string {
  if (isStoreName(name)) return name;
  throw new RangeError(`${JSON.stringify(name.slice(0, 80))} is no ${what}`);
}
