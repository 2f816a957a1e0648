/// <reference lib="es2024.string" />

/**
 * Text as every database can store it: lone surrogates and U+0000 become U+FFFD. SQLite would keep U+0000, PostgreSQL
 * refuses it; replacing it here makes both store the same text (contracts.md "database").
 */
export function storedText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

export function storedTextOrNull(text: string | null): string | null {
  return text === null ? null : storedText(text);
}

/**
 * Unknown fields as JSON text, null when there are none. Keys are sorted at every level, so that an entry sent with
 * its fields in another order counts as unchanged.
 */
export function storedExtra(extra: Readonly<Record<string, unknown>>): string | null {
  return Object.keys(extra).length === 0 ? null : JSON.stringify(stored(extra));
}

function stored(value: unknown): unknown {
  if (typeof value === 'string') return storedText(value);
  if (Array.isArray(value)) return value.map(stored);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, field]) => [storedText(key), stored(field)] as const);
  // fromEntries defines properties, so that a field named `__proto__` stays a field.
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
