/** Host names, version names and stage ids alike: no separators, nothing that starts with a dot (contracts.md). */
const namePattern = /^[A-Za-z0-9_][A-Za-z0-9._:-]{0,252}$/;

export function isStoreName(name: string): boolean {
  return namePattern.test(name);
}

/** Gives the name back if it can be a folder's name in the store; throws `RangeError`. */
export function storeName(what: 'domain' | 'version' | 'stage id' | 'file', name: string): string {
  if (isStoreName(name)) return name;
  throw new RangeError(`${JSON.stringify(name.slice(0, 80))} is no ${what}`);
}
