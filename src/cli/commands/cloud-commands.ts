/** Whether the address belongs to Temporal Cloud, for access by certificate or by API key. */
export function isCloud(address: string): boolean {
  return /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/i.test(address);
}

/** Temporal Cloud's commands that register the missing search attributes as Keyword. */
export function cloudCommands(namespace: string, missing: readonly string[]): string[] {
  if (missing.length === 0) return [];
  const attributes = missing.map((name) => `--search-attribute "${name}=Keyword"`).join(' ');
  return [`tcld namespace search-attributes add --namespace ${namespace} ${attributes}`];
}
