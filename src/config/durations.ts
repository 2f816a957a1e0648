const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `500ms`, `20s`, `15m`, `1h`, `7d`; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  if (amount === undefined || unit === undefined) return null;
  const milliseconds = Number(amount) * units[unit as keyof typeof units];
  return Number.isSafeInteger(milliseconds) ? milliseconds : null;
}
