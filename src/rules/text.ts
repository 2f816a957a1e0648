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

/** The text, or its beginning with `…` for the rest: at most `longest` characters. */
export function clipped(text: string, longest: number): string {
  const characters = [...text];
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

/** `12.3 MiB` */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return power === 0 ? `${Math.ceil(bytes)} B` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}

/** What moves a cursor, starts a terminal's command, hides text or turns its direction; a line end or tab does none of it. */
const commanding = /[^\P{Cc}\n\t]|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Foreign text without control characters, each shown as `�`. */
export function visibleText(text: string): string {
  return text.replace(commanding, '\ufffd');
}

/** JSON text with the control characters that JSON allows in texts written as escapes. */
export function visibleJson(json: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(commanding, escaped);
}

/* Markdown texts for the Temporal UI and the terminal. They hold only ids, counts and times (X1). */

/** A moment in milliseconds as `14:05:07 UTC`. */
export function clockTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}

/** Like `clockTime`, with the date if it is not today: `2026-11-24 14:05:07 UTC`. */
export function momentText(ms: number, now: number): string {
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  return day(ms) === day(now) ? clockTime(ms) : `${day(ms)} ${clockTime(ms)}`;
}

/** A duration in milliseconds as `45 s`, `3 min 20 s` or `2 h 5 min`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `≈ 14:05:00 UTC, 212 pages, 2 windows`: when a pass will be done if nothing changes. */
export function forecastText(
  { doneAt, pages, windows }: { doneAt: number; pages: number; windows: number },
  now: number,
): string {
  const moment = `≈ ${momentText(doneAt, now)}`;
  return [moment, counted(pages, 'page'), ...(windows > 0 ? [counted(windows, 'window')] : [])].join(', ');
}

/** Longest summary in UTF-8 bytes: Temporal documents 200, including JSON quotes. */
const summaryBytes = 180;

/** A summary of a timer or activity, cut to what Temporal accepts: it may quote the service, in any script. */
export function summaryText(quoting: string): string {
  const text = visibleText(quoting);
  let [bytes, length] = [0, 0];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > summaryBytes) return text.slice(0, length);
    length += character.length;
  }
  return text;
}

/** A Markdown table of two columns; pipes, line breaks and control characters in values cannot break it. */
export function factsTable(facts: readonly (readonly [string, string])[]): string {
  const cell = (text: string) => visibleText(text.replaceAll('|', '\\|').replace(/\s+/g, ' '));
  return ['| | |', '|---|---|', ...facts.map(([name, value]) => `| ${cell(name)} | ${cell(value)} |`)].join('\n');
}

/** The text about malformed signals: empty while there are none, or if an older worker does not count them. */
export function ignoredFacts(ignored: number | undefined): [string, string][] {
  return ignored ? [['ignored', `${counted(ignored, 'signal')} that made no sense`]] : [];
}

/** A percentage as a text bar. */
export function barText(percent: number, width = 20): string {
  const filled = Math.round((Math.min(100, Math.max(0, percent)) / 100) * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}

/** The same JSON value with every text cut to this many UTF-16 units: readers' comments may have megabytes. */
export function shortTexts<Value>(value: Value, longest: number): Value {
  return JSON.parse(JSON.stringify(value), (_key, part: unknown) =>
    typeof part === 'string' ? beginningOf(part, longest) : part,
  ) as Value;
}

/** A copy: a slice would keep the whole text in memory. */
export function beginningOf<Text extends string | null>(text: Text, longest: number): Text {
  return text === null || text.length <= longest ? text : (Buffer.from(text.slice(0, longest)).toString() as Text);
}

/** The text without any of these characters at its end. As a pattern (`/+$`), time would grow by the square. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

const collator = new Intl.Collator('en', { numeric: true });

/** The order in which people look for names: docs2 before docs10. Equal only for equal names. */
export function naturalOrder(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

/**
 * The name that a person most likely meant, by its letters; null when none is near. Of a domain its first word may be
 * written, and of `organization/id` the id alone may be near; what belongs to the organization that was written comes before
 * what belongs to others.
 */
export function nearestName(written: string, names: readonly string[]): string | null {
  const [id, org] = written.toLowerCase().split('/').reverse();
  const near = names
    .map((name) => {
      const [itsId, itsOrg] = name.toLowerCase().split('/').reverse();
      const orgs = org === undefined || itsOrg === undefined ? 0 : editDistance(org, itsOrg);
      const foreign = !isNear(orgs, itsOrg);
      const ids = itsId?.startsWith(`${id}.`) ? 0 : editDistance(id ?? '', itsId ?? '');
      return { name, foreign, orgs, ids };
    })
    .filter(({ name, ids }) => isNear(ids, name.split('/').at(-1)))
    .sort((a, b) => Number(a.foreign) - Number(b.foreign) || a.ids + a.orgs - b.ids - b.orgs);
  return near[0]?.name ?? null;
}

const isNear = (distance: number, name = ''): boolean => distance <= Math.max(1, Math.floor(name.length / 3));

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, characterA] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, characterB] of [...b].entries()) {
      const replace = (row[j] ?? 0) + (characterA === characterB ? 0 : 1);
      next.push(Math.min(replace, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Characters that are invisible or turn a line around; the joiners inside an emoji do neither. */
export const invisible =
  /(?!(?<=\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?)\u200D\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Path or address of a page as people write it: percent-encoded characters as themselves, unless one is invisible. */
export function pagePath(path: string): string {
  try {
    // What would change the meaning, such as %2F or %25, stays encoded.
    const decoded = decodeURI(path.replaceAll('%25', '%2525'));
    return /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(decoded) ? path : decoded;
  } catch {
    return path;
  }
}

const isoPattern =
  /^(\d{4})-?(\d{2})-?(\d{2})(?:[T ](\d{2}):?(\d{2})(?::?(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/**
 * An ISO 8601 date-time or date (`YYYY-MM-DD`, its midnight), the first also in the basic form, in milliseconds since the epoch;
 * null for anything else and outside the years 1000 to 9999. Without a zone it counts as UTC. Never throws.
 */
export function isoInstant(text: string): number | null {
  const [iso, year, month, day, hours = '00', minutes = '00', seconds = '00', fraction = '', zone = 'Z'] =
    isoPattern.exec(text) ?? [];
  // Eight digits alone may be anything.
  if (iso === undefined || /^\d{8}$/.test(text)) return null;
  const local = `${year}-${month}-${day}T${hours}:${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const localMs = Date.parse(local);
  // Date.parse rolls 30 February over into March.
  if (Number.isNaN(localMs) || new Date(localMs).toISOString() !== local) return null;
  const offset = offsetMinutes(zone);
  return offset === null ? null : inFourDigitYears(localMs - offset * 60_000);
}

/** Null outside the years 1000 to 9999: written with a sign or leading zeros, they would sort wrongly as text. */
export function inFourDigitYears(ms: number): number | null {
  return ms >= Date.UTC(1000, 0) && ms < Date.UTC(10_000, 0) ? ms : null;
}

function offsetMinutes(zone: string): number | null {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  if (sign === undefined) return 0;
  if (Number(hours) > 23 || Number(minutes) > 59) return null;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
