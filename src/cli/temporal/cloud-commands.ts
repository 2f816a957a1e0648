/** Whether the address is one of Temporal Cloud, by certificate or by API key. */
export function isCloud(address: string): boolean {
  return /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/i.test(address);
}

/** The commands of Temporal Cloud that register search attributes of the type Keyword; none when none are missing. */
export function cloudCommands(namespace: string, missing: readonly string[]): string[] {
  if (missing.length === 0) return [];
  const attributes = missing.map((name) => `--search-attribute "${name}=Keyword"`).join(' ');
  return [`tcld namespace search-attributes add --namespace ${namespace} ${attributes}`];
}
