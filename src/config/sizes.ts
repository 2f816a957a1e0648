const units = {
  B: 1,
  KB: 1000,
  MB: 1000 ** 2,
  GB: 1000 ** 3,
  TB: 1000 ** 4,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
  TiB: 1024 ** 4,
};

/** Bytes of `5GiB` (powers of 1024), `10MB` (powers of 1000) or plain `4096`; null for anything else. */
export function parseSize(text: string): number | null {
  const [, amount, unit = 'B'] = /^(\d+(?:\.\d+)?) ?(B|[KMGT]i?B)?$/.exec(text.trim()) ?? [];
  if (amount === undefined) return null;
  const bytes = Number(amount) * units[unit as keyof typeof units];
  return Number.isSafeInteger(bytes) ? bytes : null;
}
