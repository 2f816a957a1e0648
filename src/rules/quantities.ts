/** Numbers in texts: the same on the terminal, in the Temporal UI and in the report. */

const whole = new Intl.NumberFormat('en');

/** `1,204` */
export function countText(count: number): string {
  return whole.format(count);
}

/** `1 entry`, `1,204 entries`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** `12.3 MiB` */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return power === 0 ? `${Math.ceil(bytes)} B` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
