import stringWidth from 'string-width';

/** `name  value` lines with the values in one column. */
export function factLines(facts: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

/** Rows under a header, columns padded to the widest cell as a terminal shows it; colours have no width. */
export function tableLines(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(stringWidth(title), ...rows.map((row) => stringWidth(row[column] ?? ''))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - stringWidth(cell)))
      .join('  ')
      .trimEnd();
  return [header, ...rows].map(line).join('\n');
}

/** ISO 8601 of milliseconds since the epoch, for JSON documents. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | null): string | null;
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** `2026-11-21 04:02:00` of an ISO 8601 time in UTC, for tables. */
export function timeText(iso: string | null): string {
  return iso === null ? '-' : iso.slice(0, 19).replace('T', ' ');
}

/** `2026-11-21 04:02:00 UTC` of an ISO 8601 time in UTC. */
export function utcText(iso: string): string {
  return `${timeText(iso)} UTC`;
}

/** Foreign text, safe for a terminal: control characters are replaced, long texts are cut in the middle. */
export function printable(text: string, longest = 60): string {
  const safe = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD');
  const characters = [...safe];
  if (characters.length <= longest) return safe;
  const half = Math.floor((longest - 1) / 2);
  return `${characters.slice(0, half).join('')}…${characters.slice(-half).join('')}`;
}

/** Indents every line, to go below a heading. */
export function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
